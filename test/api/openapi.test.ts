import { Validator } from "@seriousme/openapi-schema-validator"
import { expect, test } from "vitest"
import { openApiOf } from "../../src/api/openapi.ts"
import { openApiPages } from "../../src/server/openapi.ts"
import { tableOf } from "../contract/table.ts"
import { worldOf } from "./world.ts"

const { entries } = worldOf()
const described: any = openApiOf(entries)
const files = { readerJs: "/ui/assets/reader.js", readerCss: "/ui/assets/reader.css" }
const pages = openApiPages(entries, files)

async function get(path: string, method = "GET"): Promise<Response> {
  const answer = await pages(new Request(`http://nas${path}`, { method }), path)
  if (!answer) throw new Error(`nothing is at ${path}`)
  return answer
}

const operations: any[] = Object.values<object>(described.paths).flatMap((verbs) =>
  Object.values(verbs),
)

test("what is served is OpenAPI 3.0.3 that a validator takes, with an empty title", async () => {
  const answer = await get("/openapi/json")
  const document = await answer.json()
  expect(document).toMatchObject({ openapi: "3.0.3", info: { title: "", version: "0.0.1" } })
  expect(await new Validator().validate(document)).toEqual({ valid: true })
  expect(document.paths).toEqual(JSON.parse(JSON.stringify(described.paths)))
})

test("the validator refuses what is no such document", async () => {
  const broken = { openapi: "3.0.3", info: { title: "" }, paths: {} }
  expect((await new Validator().validate(broken)).valid).toBe(false)
})

test("every operation that has a path is described, and has an id of its own", () => {
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const withPath = entries.filter(({ method }) =>
    ["core.admin.v1", "core.auth.v1", "core.management.v1", "core.system.v1"].includes(
      method.parent.file.proto.package,
    ),
  )
  const missing = withPath
    .map(({ method }) => `${method.parent.name}_${method.name}`)
    .filter((id) => !ids.includes(id))
  expect(missing).toEqual([])
})

test.each(tableOf("test/contract/bare-paths.tsv"))(
  "$verb $path stands there under its plain id",
  ({ verb = "", path = "", rpc = "" }) => {
    const camel = path.replace(/_(\w)(?=[^{]*\})/g, (_, letter: string) => letter.toUpperCase())
    const [service = "", name] = rpc.split("/")
    const id = `${service.split(".").at(-1)}_${name}`
    expect(described.paths[camel][verb.toLowerCase()].operationId).toBe(id)
  },
)

test("the paths of a family stand there as well", () => {
  const { get: read } = described.paths["/management/v1/projects/{id}"]
  expect(read.operationId).toBe("ManagementService_GetProjectByID")
  expect(read.parameters).toContainEqual({
    name: "id",
    in: "path",
    required: true,
    schema: { type: "string" },
  })
})

test("what is asked in the address is dotted, in the types of the interface", () => {
  const path = "/granted_projects/{projectId}/grants/{grantId}/roles/_search"
  const { parameters, deprecated, description } = described.paths[path].get
  const typeOf = (name: string) =>
    parameters.find((each: { name: string }) => each.name === name)?.schema
  expect(typeOf("query.limit")).toEqual({ type: "integer", format: "uint32" })
  expect(typeOf("query.offset")).toEqual({ type: "string", format: "uint64" })
  expect(typeOf("query.asc")).toEqual({ type: "boolean" })
  expect(deprecated).toBe(true)
  expect(description).toMatch(/^Use core\.project\.v2\.ProjectService\//)
})

test("a body and an answer are named by their messages, a failure is a Status", () => {
  const { put } = described.paths["/management/v1/projects/{id}"]
  const named = (name: string) => ({
    "application/json": { schema: { $ref: `#/components/schemas/${name}` } },
  })
  expect(put.requestBody.content).toEqual(named("UpdateProjectRequest"))
  expect(put.responses[200].content).toEqual(named("UpdateProjectResponse"))
  expect(put.responses.default.content).toEqual(named("Status"))
  expect(put.description).toContain("Needs the permission project.write.")
})

test("no reference leads nowhere", () => {
  const wanted = [...JSON.stringify(described).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)]
  expect(wanted.length).toBeGreaterThan(100)
  const lost = wanted.filter(([, kind = "", name = ""]) => !described.components[kind]?.[name])
  expect(lost.map(([reference]) => reference)).toEqual([])
})

test("the reader is made of files that are embedded, under a strict policy", async () => {
  const page = await get("/openapi")
  const html = await page.text()
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
  const policy = page.headers.get("content-security-policy") ?? ""
  expect(policy).not.toContain("unsafe")
  expect(policy).toContain("default-src 'none'")
  expect(html).not.toMatch(/(src|href|url\()=?"?https?:/)
  expect(html).toContain(`<script src="${files.readerJs}" crossorigin>`)
  expect(html).toContain(`@import url("${files.readerCss}")`)
})

test("only what is there is answered", () => {
  const ask = (path: string, method = "GET") =>
    pages(new Request(`http://id.test${path}`, { method }), path)
  expect(ask("/openapi/yaml")).toBeUndefined()
  expect(ask("/openapi", "POST")).toBeUndefined()
})
