vcl 4.1;

backend default {
    .host = "{{ (origin | split(":") | list)[0] }}";
    .port = "{{ (origin | split(":") | list)[1] }}";
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
