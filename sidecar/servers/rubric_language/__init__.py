"""A door for editors: the Language Server Protocol over stdin and stdout, for rubrics and nothing else.

It lives in a process of its own, for pygls is heavy. What a rubric says, and what is wrong with it, is not
known here; a desk is asked. What an editor shows of that is found in sidecar/policy/editing; here it is put
in words of the protocol.
"""

from sidecar.servers.rubric_language.desk import Desk
from sidecar.servers.rubric_language.serving import serve

__all__ = ["Desk", "serve"]
