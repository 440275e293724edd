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
    set resp.body = "Hello, world!";
    return (deliver);
}
