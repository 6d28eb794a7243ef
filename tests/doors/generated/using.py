"""What a stranger writes with the client that openapi-python-client generated. Run by the Python of `make foreign`,
which has nothing of ours: python using.py ADDRESS KEY, where the package `memory_client` is."""

import io
import sys

from memory_client import AuthenticatedClient, Client
from memory_client.api.records import records_add, records_edit, records_find, records_forget_one, records_get
from memory_client.api.retriever import recall
from memory_client.api.streams import streams_export, streams_import
from memory_client.models import Problem, RecallRequest, RecordsAddRequest, RecordsEditRequest
from memory_client.types import File

address, key = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=key, timeout=None)
ada = {"client": client, "x_memory_user": "ada"}

added = records_add.sync(body=RecordsAddRequest(text="Zoë likes tea", importance=0.7), idempotency_key="once", **ada)
again = records_add.sync(body=RecordsAddRequest(text="Zoë likes tea", importance=0.7), idempotency_key="once", **ada)
assert added.id == again.id and added.effect == "created", (added, again)

first = records_get.sync_detailed(added.id, **ada)
assert first.parsed.text == "Zoë likes tea" and first.parsed.scope.user == "ada", first
tag = first.headers["etag"]
assert records_edit.sync(added.id, body=RecordsEditRequest(text="Zoë likes coffee"), if_match=tag, **ada).version == 2
late = records_edit.sync(added.id, body=RecordsEditRequest(text="Zoë likes milk"), if_match=tag, **ada)
assert isinstance(late, Problem) and (late.status, late.code) == (412, "changed"), late

found = recall.sync(body=RecallRequest(query="what does Zoë drink?", k=3), **ada)
assert found.hits[0].record.text == "Zoë likes coffee" and 0 < found.hits[0].relevance <= 1, found
refused = recall.sync(body=RecallRequest(query="tea", k=0), **ada)
assert isinstance(refused, Problem) and refused.field == "k" and refused.status == 422, refused
assert records_find.sync(client=client, x_memory_user="ben") == [], "somebody else's"

lines = streams_export.sync_detailed(**ada).content
taken = streams_import.sync(body=File(io.BytesIO(lines)), client=client, x_memory_user="ben")
assert taken.lines == taken.created + taken.unchanged > 0, taken

gone = records_forget_one.sync(added.id, if_match='"2"', reason="asked to", **ada)
assert gone.ids == [added.id] and gone.scrubbed, gone
missing = records_get.sync(added.id, **ada)
assert isinstance(missing, Problem) and missing.code == "not_found", missing
nobody = records_find.sync(client=Client(base_url=address, timeout=None))
assert isinstance(nobody, Problem) and nobody.code == "unauthenticated", nobody
sys.stdout.write("done\n")
