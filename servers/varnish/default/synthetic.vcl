vcl 4.1;

backend default none;

sub vcl_recv {
{% if recv %}
    {{ recv }}
{% endif %}
    return (synth(200));
}

sub vcl_synth {
    set resp.http.Content-Type = "text/plain";
{% if action %}
    # Set by bakeoff for a trial: which configuration this is.
    set resp.http.X-Bakeoff-Change = "0";
{% endif %}
    set resp.body = "Hello, world!";
    return (deliver);
}
