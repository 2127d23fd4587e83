"""What an editor shows of a rubric, and changes in it: pure functions over an Outline.

Laws. Nothing here reads a rubric: what a criterion is and where it stands is taken from the Outline, so an
editor shows what the judge uses. A place is counted as in sidecar/model/outline.py. Nothing here knows an
editor, or its protocol.
"""
