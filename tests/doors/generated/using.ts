// What a stranger writes with the types that openapi-typescript generated: node using.ts ADDRESS KEY.
import createClient from "openapi-fetch";
import type { components, paths } from "./memory";

const [address, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: address, headers: { Authorization: `Bearer ${key}` } });
const ada = { "X-Memory-User": "ada" };

function check(holds: unknown, why: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(why));
}

const body = { text: "Zoë likes tea", importance: 0.7 };
const added = await client.POST("/v1/records", { body, params: { header: { ...ada, "Idempotency-Key": "once" } } });
const again = await client.POST("/v1/records", { body, params: { header: { ...ada, "Idempotency-Key": "once" } } });
check(added.data && added.data.id === again.data?.id, [added, again]);
const id = added.data.id;

const read = await client.GET("/v1/records/{id}", { params: { path: { id }, header: ada } });
const record: components["schemas"]["Record"] | undefined = read.data;
check(record?.text === "Zoë likes tea", read);
const tag = read.response.headers.get("etag") ?? "";
const header = { ...ada, "If-Match": tag };
await client.PUT("/v1/records/{id}", { params: { path: { id }, header }, body: { text: "Zoë likes coffee" } });
const late = await client.DELETE("/v1/records/{id}", { params: { path: { id }, header } });
check(late.response.status === 412 && late.error?.code === "changed", late);

const found = await client.POST("/v1/recall", { body: { query: "what does Zoë drink?" }, params: { header: ada } });
check(found.data?.hits[0].record.text === "Zoë likes coffee", found);
const gone = await client.DELETE("/v1/records/{id}", { params: { path: { id }, header: ada, query: { reason: "asked" } } });
check(gone.data?.ids[0] === id, gone);
const missing = await client.GET("/v1/records/{id}", { params: { path: { id }, header: ada } });
check(missing.error?.code === "not_found", missing);
console.log("done");
