r"""Which writing system a stretch of text is in, as character classes for `re`.

Two readers share this: the token counter (how dense is a script) and the BM25 terms (does a
script put spaces between words). Ranges are Unicode blocks; Python's own `\w` leaves out the
combining marks that Indic and South-East Asian words are full of, so they are named here.
"""

from __future__ import annotations

HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Thai, Lao, Tibetan, Myanmar, Khmer: no spaces between words, letters and marks together.
SOUTH_EAST_ASIAN = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eda\u0f40-\u0fbc\u1000-\u103f\u1780-\u17d3"

UNSPACED = HAN + KANA + HANGUL + SOUTH_EAST_ASIAN
"""Scripts whose words are not set apart by spaces, or whose spaced units are phrases (Hangul)."""

# Marks of spaced scripts that belong inside a word: Latin and Cyrillic accents, Hebrew and
# Arabic points, everything in the Indic blocks but the dandas.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd"
    "\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b4d"
    "\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c4d\u0c81-\u0c83\u0cbc-\u0ccd"
    "\u0d00-\u0d03\u0d3b-\u0d4d\u0d81-\u0d83\u0dca-\u0ddf\u200c\u200d"
)

COMBINING = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
    "\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
"""Marks of unspaced scripts: they extend the letter before them and never stand alone."""
