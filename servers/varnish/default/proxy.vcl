vcl 4.1;

backend default {
    .host = "{{ origin_ip }}";
    .port = "{{ origin_port }}";
{% if backend %}
    {{ backend }}
{% endif %}
}

# No cache: every request goes to the origin.
sub vcl_recv {
{% if recv %}
    {{ recv }}
{% endif %}
    return (pass);
}
{% if action %}

# Set by bakeoff for a trial: which configuration this is.
sub vcl_deliver {
    set resp.http.X-Bakeoff-Change = "0";
}
{% endif %}
