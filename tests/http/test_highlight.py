"""JSON with colours."""

from tollhouse.http.markup import json_code


def test_names_texts_and_literals_differ() -> None:
    assert json_code('{"a": "b: \\"c\\"", "n": [-1.5e3, true, null]}') == (
        '{<span class="tok-n">"a"</span>: <span class="tok-s">"b: \\"c\\""</span>, <span class="tok-n">"n"</span>: '
        '[<span class="tok-k">-1.5e3</span>, <span class="tok-k">true</span>, <span class="tok-k">null</span>]}'
    )


def test_nothing_else_has_colours_and_all_is_escaped() -> None:
    assert json_code('curl "x" 1 <b>') == 'curl "x" 1 &lt;b&gt;'
    assert json_code('["</pre><script>"]') == '[<span class="tok-s">"&lt;/pre&gt;&lt;script&gt;"</span>]'
