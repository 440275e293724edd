//! Words of headers in other languages, as the English ones that `header.rs` knows.

/// German, French, Spanish, Italian and Portuguese words, in lower case and without accents.
const WORDS: [(&str, &[&str]); 24] = [
    (
        "requests",
        &[
            "anfragen",
            "requetes",
            "peticiones",
            "solicitudes",
            "richieste",
            "requisicoes",
            "pedidos",
        ],
    ),
    ("per", &["pro", "par", "por"]),
    (
        "second",
        &["sekunde", "sek", "seconde", "segundo", "seg", "secondo"],
    ),
    ("seconds", &["sekunden", "secondes", "segundos", "secondi"]),
    ("of", &["der", "de", "del", "di", "do"]),
    (
        "mean",
        &[
            "mittel",
            "mittelwert",
            "mittlere",
            "durchschnitt",
            "durchschnittliche",
            "ø",
            "moyen",
            "moyenne",
            "media",
            "medio",
            "promedio",
        ],
    ),
    ("median", &["mediane", "mediana"]),
    (
        "max",
        &[
            "maximal",
            "maximale",
            "hochstwert",
            "hochste",
            "grosste",
            "langste",
            "maximo",
            "maxima",
            "massimo",
            "massima",
        ],
    ),
    (
        "min",
        &[
            "minimal",
            "minimale",
            "tiefstwert",
            "kleinste",
            "kurzeste",
            "minimo",
            "minima",
        ],
    ),
    ("percentile", &["perzentil", "centile", "percentil"]),
    ("latency", &["latenz", "latence", "latencia", "latenza"]),
    ("latencies", &["latenzen", "latences", "latencias"]),
    (
        "response",
        &["reponse", "respuesta", "risposta", "resposta"],
    ),
    ("time", &["zeit", "temps", "tiempo", "tempo"]),
    ("response time", &["antwortzeit"]),
    (
        "errors",
        &["fehler", "erreurs", "errores", "errori", "erros"],
    ),
    ("error rate", &["fehlerrate", "fehlerquote"]),
    ("failed", &["fehlgeschlagen", "echecs", "fallos", "falhas"]),
    (
        "successful",
        &["erfolgreich", "erfolgreiche", "reussies", "exitosas"],
    ),
    (
        "connections",
        &[
            "verbindungen",
            "connexions",
            "conexiones",
            "connessioni",
            "conexoes",
        ],
    ),
    (
        "users",
        &["nutzer", "benutzer", "utilisateurs", "usuarios", "utenti"],
    ),
    ("clients", &["clienti", "clientes"]),
    ("throughput", &["durchsatz", "debit", "rendimiento"]),
    (
        "duration",
        &["dauer", "duree", "duracion", "durata", "duracao"],
    ),
];

/// The English words for a word; `None` where none is known.
pub(crate) fn english(word: &str) -> Option<&'static str> {
    let word = folded(&word.to_lowercase());
    let is_it = |(_, others): &&(_, &[&str])| others.contains(&word.as_str());
    WORDS.iter().find(is_it).map(|(english, _)| *english)
}

/// A text without its accents, which have two spellings: a letter, or a letter and a mark.
pub(crate) fn folded(text: &str) -> String {
    const LETTERS: [(&str, char); 7] = [
        ("äàáâãå", 'a'),
        ("öòóôõ", 'o'),
        ("üùúû", 'u'),
        ("èéêë", 'e'),
        ("ìíîï", 'i'),
        ("ç", 'c'),
        ("ñ", 'n'),
    ];
    let plain = |letter: char| {
        let found = LETTERS.iter().find(|(all, _)| all.contains(letter));
        found.map_or(letter, |(_, plain)| *plain)
    };
    let bare = text.chars().filter(|letter| !is_mark(*letter)).map(plain);
    bare.collect::<String>().replace('ß', "ss")
}

/// Whether a character is the accent of the letter before it.
pub(crate) fn is_mark(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_in_both_spellings() {
        for (word, expected) in [
            ("Höchstwert", Some("max")),
            ("Ho\u{308}chstwert", Some("max")),
            ("größte", Some("max")),
            ("Requêtes", Some("requests")),
            ("Ø", Some("mean")),
            ("requests", None),
            ("server", None),
        ] {
            assert_eq!(english(word), expected, "{word}");
        }
    }
}
