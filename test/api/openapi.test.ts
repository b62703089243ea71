import { create } from "@bufbuild/protobuf"
import { Validator } from "@seriousme/openapi-schema-validator"
import { expect, test } from "vitest"
import { createOpenApiTexts as describeApi } from "../../scripts/openapi.ts"
import { root } from "../../scripts/step.ts"
import { createRestRoutes } from "../../src/api/encoding/rest.ts"
import { charactersMax } from "../../src/api/input/bounds.ts"
import { checkValues } from "../../src/api/input/values.ts"
import { openApiOf } from "../../src/api/openapi/document.ts"
import { createRestRoot } from "../../src/api/routes.ts"
import { openApiTexts } from "../../src/gen/openapi.ts"
import { uiAssets, uiEntry } from "../../src/gen/ui-assets.ts"
import { openApiResponse } from "../../src/server/openapi.ts"
import { tableOf } from "../contract/table.ts"
import { textsBelow } from "../support/tidy-source.ts"
import { worldOf } from "./world.ts"

const { entries } = worldOf()
const openApiDocument: any = await openApiOf(entries)

async function getPath(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await openApiResponse(new Request(`http://nas${path}`, { headers }), path)
  if (!answer) throw new Error(`nothing is at ${path}`)
  return answer
}

const operations: any[] = Object.values<object>(openApiDocument.paths).flatMap((verbs) =>
  Object.values(verbs),
)

const byId = Object.fromEntries(operations.map((each) => [each.operationId, each]))

const granted = "/granted_projects/{projectId}/grants/{grantId}"
const page = ["query.offset", "query.limit", "query.asc"]

test("the served document is valid OpenAPI 3.0.3 with an empty title", async () => {
  const answer = await getPath("/openapi/json")
  const document = await answer.json()
  expect(document).toMatchObject({ openapi: "3.0.3", info: { title: "", version: "0.0.1" } })
  expect(await new Validator().validate(document)).toEqual({ valid: true })
  expect(document.paths).toEqual(JSON.parse(JSON.stringify(openApiDocument.paths)))
})

test("the embedded document matches the sources", async () => {
  const made = await describeApi(uiEntry)
  expect([...openApiTexts.keys()]).toEqual([...made.keys()])
  for (const [path, text] of made) {
    const isSame = (await (await getPath(path)).text()) === text
    expect(isSame, `${path} differs; run bun scripts/gen.ts`).toBe(true)
  }
})

test("the server imports no generator: only the build and tests do", () => {
  const importing = [...textsBelow(root, ["src"], (path) => path.endsWith(".ts"))].filter(
    ([path, text]) => !/^src\/(api\/openapi|gen)\//.test(path) && /"[./\w]+\/openapi\//.test(text),
  )
  expect(importing.map(([path]) => path)).toEqual([])
})

test("the document and the server have the same routes", () => {
  const placed = (path: string) =>
    path
      .split("/")
      .map((part, at) => (part.startsWith("{") ? `:${at - 1}` : part))
      .join("/")
  const inDocument = Object.entries<object>(openApiDocument.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, { description }]) => {
      const also = /Also at (.*)\.$/.exec(description)?.[1]?.split(", ") ?? []
      return [`${verb.toUpperCase()} ${path}`, ...also].map(placed)
    }),
  )
  const { routes } = createRestRoot(createRestRoutes(entries))
  const served = routes.map(({ method, path }) => {
    const last = path.split("/").length - 2
    return `${method} ${path.replace(/\*$/, `:${last}`)}`
  })
  expect(served.length).toBeGreaterThan(500)
  expect(inDocument.toSorted()).toEqual(served.toSorted())
})

test.each(["/openapi", "/openapi/json", "/openapi/v2", "/openapi/v2/json"])(
  "%s is served as embedded, and not again to a client that has cached it",
  async (path) => {
    const plain = await getPath(path)
    const packed = await getPath(path, { "accept-encoding": "br, gzip" })
    expect(packed.headers.get("content-encoding")).toBe("gzip")
    const bytes = await packed.bytes()
    expect(bytes).toEqual(await Bun.file(openApiTexts.get(path)?.gzip ?? "").bytes())
    expect(Buffer.from(Bun.gunzipSync(bytes)).toString()).toBe(await plain.text())
    const tag = plain.headers.get("etag") ?? ""
    const again = await getPath(path, { "if-none-match": `"other", ${tag}` })
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag])
    expect((await getPath(path, { "if-none-match": `W/"other"` })).status).toBe(200)
  },
)

test("the validator rejects an invalid document", async () => {
  const broken = { openapi: "3.0.3", info: { title: "" }, paths: {} }
  expect((await new Validator().validate(broken)).valid).toBe(false)
})

test("every operation with a path is described and has a unique ID", () => {
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
  "$verb $path is described under its plain ID",
  ({ verb = "", path = "", rpc = "" }) => {
    const camel = path.replace(/_(\w)(?=[^{]*\})/g, (_, letter: string) => letter.toUpperCase())
    const [service = "", name] = rpc.split("/")
    const id = `${service.split(".").at(-1)}_${name}`
    expect(openApiDocument.paths[camel][verb.toLowerCase()].operationId).toBe(id)
  },
)

/** As in the table of the API: parameters, the body, and whether it is required. */
test.each<[string, string, readonly string[], string | undefined]>([
  ["get", "/", ["instance.id", "instance.domain"], undefined],
  ["post", "/", ["instance.id", "instance.domain"], "WebKey, required"],
  ["delete", "/actions/{id}", ["id"], "DeleteActionRequest, required"],
  ["post", "/domains/_search", [...page, "sortingColumn"], undefined],
  ["post", "/domains/{domain}/_exists", ["domain"], "ExistsDomainRequest"],
  ["put", "/features/login_default_org", [], undefined],
  ["get", "/global/orgs/_by_domain", ["domain"], undefined],
  ["post", "/global/projectorgs/_search", [], "ListMyProjectOrgsRequest"],
  ["get", "/global/users/_by_login_name", ["loginName"], undefined],
  ["post", "/granted_projects/_search", [], "ListGrantedProjectsRequest"],
  ["get", granted, ["projectId", "grantId"], undefined],
  ["get", `${granted}/roles/_search`, ["projectId", "grantId", ...page], undefined],
  ["get", "/healthz", [], undefined],
  ["get", "/iam", [], undefined],
])("%s %s is described as the API has it", (verb, path, parameters, body) => {
  const { operationId, ...operation } = openApiDocument.paths[path][verb]
  const named = ({ content }: any) => content["application/json"].schema.$ref.split("/").at(-1)
  const names = operation.parameters.flatMap((each: any) => each.name ?? [])
  expect(names).toEqual(parameters)
  const { requestBody } = operation
  const said = requestBody && named(requestBody) + (requestBody.required ? ", required" : "")
  expect(said).toBe(body)
  expect(named(operation.responses[200])).toBe(`${operationId.split("_")[1]}Response`)
})

test("the sorting column is a number in a query string", () => {
  const { parameters } = openApiDocument.paths["/domains/_search"].post
  const column = parameters.find(({ name }: { name: string }) => name === "sortingColumn")
  expect(column.schema).toEqual({ type: "integer", enum: expect.arrayContaining([0, 1]) })
})

test("the paths of a service family are described as well", () => {
  const { get: read } = openApiDocument.paths["/management/v1/projects/{id}"]
  expect(read.operationId).toBe("ManagementService_GetProjectByID")
  expect(read.parameters).toContainEqual({
    name: "id",
    in: "path",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 10_000 },
    example: "278362384872636416",
  })
})

test("query parameters are dotted and have the types of the API", () => {
  const path = "/granted_projects/{projectId}/grants/{grantId}/roles/_search"
  const { parameters, deprecated, description } = openApiDocument.paths[path].get
  const typeOf = (name: string) =>
    parameters.find((each: { name: string }) => each.name === name)?.schema
  const whole = { type: "integer", format: "uint32", minimum: 0, maximum: 4_294_967_295 }
  expect(typeOf("query.limit")).toEqual(whole)
  expect(typeOf("query.offset")).toMatchObject({ type: "string", format: "uint64" })
  expect(typeOf("query.asc")).toEqual({ type: "boolean" })
  expect(deprecated).toBe(true)
  expect(description).toMatch(/^Use core\.project\.v2\.ProjectService\//)
})

test("bodies and responses are named by their messages, and an error is a Status", () => {
  const { put } = openApiDocument.paths["/management/v1/projects/{id}"]
  const named = (name: string) => ({
    "application/json": { schema: { $ref: `#/components/schemas/${name}` } },
  })
  expect(put.requestBody.content).toMatchObject(named("UpdateProjectRequest"))
  expect(put.responses[200].content).toMatchObject(named("UpdateProjectResponse"))
  expect(put.responses[404].content).toMatchObject(named("Status"))
  expect(put.responses.default.content).toEqual(named("Status"))
  expect(put.description).toContain("Requires the permission project.write.")
})

test("every operation describes its effect, its permission, and its resource", () => {
  const services = new Set(entries.map(({ method }) => method.parent.name))
  for (const { operationId, summary, description, tags, security } of operations) {
    expect(summary, operationId).toMatch(/^[A-Z][^.]{3,}$/)
    const needs = security ? "Requires no token." : /Requires (a token but no|the) permission/
    expect(description, operationId).toMatch(needs)
    expect(description.length, operationId).toBeGreaterThan(summary.length)
    expect(tags, operationId).toHaveLength(1)
    expect(services, operationId).not.toContain(tags[0])
  }
  const named = openApiDocument.tags.map(({ name }: { name: string }) => name)
  expect(named.toSorted()).toEqual([...new Set(operations.flatMap(({ tags }) => tags))].toSorted())
  expect(openApiDocument.paths["/actions/{id}"].delete).toMatchObject({
    operationId: "ManagementService_DeleteAction",
    tags: ["Actions"],
  })
})

test("an operation is listed once under its plain name, with its other paths", () => {
  const ids = operations.map(({ operationId }) => operationId)
  expect(ids.filter((id) => !/^[A-Za-z]+_[A-Za-z0-9]+$/.test(id) || /_\d+$/.test(id))).toEqual([])
  expect(openApiDocument.paths["/management/v1/actions/{id}"]).toBeUndefined()
  expect(openApiDocument.paths["/actions/{id}"].delete.description).toContain(
    "Also at DELETE /management/v1/actions/{id}.",
  )
})

test("requests state the limits that the server applies, and responses state none", () => {
  const { schemas } = openApiDocument.components
  expect(schemas.CreateActionRequest.properties.name).toMatchObject({ maxLength: 200 })
  expect(schemas.UpdateActionRequest.properties.id).toMatchObject({ maxLength: 10_000 })
  expect(schemas.SetTriggerActionsRequest.properties.actionIds).toMatchObject({ maxItems: 20 })
  const texts = Object.values<any>(schemas.CreateActionResponse.properties)
  expect(texts.filter(({ maxLength }) => maxLength !== undefined)).toEqual([])
})

test("the server rejects one element or one character above a limit", () => {
  const bound = entries.filter(({ method }) => `${method.parent.name}_${method.name}` in byId)
  let tried = 0
  for (const { method } of bound) {
    const { requestBody } = byId[`${method.parent.name}_${method.name}`]
    const name = requestBody?.content["application/json"]?.schema.$ref?.split("/").at(-1)
    if (name !== method.input.name) continue
    for (const field of method.input.fields) {
      const { maxItems, maxLength } =
        openApiDocument.components.schemas[name].properties[field.jsonName]
      // Operations reject shorter values; test/contract/rules.test.ts covers this.
      const isChecked = maxItems !== undefined || (maxLength === charactersMax && !field.oneof)
      if (!isChecked) continue
      const item = field.message ? create(field.message) : field.scalar === 9 ? "x" : 0
      const value = (more: number) =>
        maxItems === undefined
          ? "x".repeat(maxLength + more)
          : Array.from({ length: maxItems + more }, () => item)
      const check = (more: number) =>
        checkValues(method.input, { ...create(method.input), [field.localName]: value(more) })
      expect(() => check(0), `${name}.${field.name}`).not.toThrow()
      expect(() => check(1), `${name}.${field.name}`).toThrow(/must (have|be) at most/)
      tried++
    }
  }
  expect(tried).toBeGreaterThan(250)
})

test("a mandatory parameter is required", () => {
  const { parameters } = openApiDocument.paths["/global/users/_by_login_name"].get
  expect(parameters).toContainEqual({
    name: "loginName",
    in: "query",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 10_000 },
  })
})

test("an update has a string mask and a numeric read version", () => {
  const { properties } = openApiDocument.components.schemas.UpdateLockoutPolicyRequest
  expect(properties).toMatchObject({
    updateMask: { type: "string" },
    expectedVersion: { type: "string", format: "uint64" },
  })
})

test("every reference resolves", () => {
  const wanted = [...JSON.stringify(openApiDocument).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)]
  expect(wanted.length).toBeGreaterThan(100)
  const lost = wanted.filter(
    ([, kind = "", name = ""]) => !openApiDocument.components[kind]?.[name],
  )
  expect(lost.map(([reference]) => reference)).toEqual([])
})

test("the API reader consists of embedded files under a strict policy", async () => {
  const page = await getPath("/openapi")
  const html = await page.text()
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
  const policy = page.headers.get("content-security-policy") ?? ""
  expect(policy).not.toContain("unsafe")
  expect(policy).toContain("default-src 'none'")
  expect(html).not.toMatch(/(src|href|url\()=?"?https?:/)
  expect(html).toContain("<title></title>")
  const { readerJs, readerCss } = uiEntry
  expect(html).toContain(`<script src="${readerJs}" crossorigin>`)
  expect(html).toContain(`@import url("${readerCss}")`)
  for (const file of [readerJs, readerCss]) expect(Object.keys(uiAssets)).toContain(file)
})

test("version 2 is described at its own path, in the JSON form of Connect", async () => {
  const document = await (await getPath("/openapi/v2/json")).json()
  expect(document).toMatchObject({ openapi: "3.0.3", info: { title: "Latchkey API, version 2" } })
  const { post } = document.paths["/core.user.v2.UserService/CreateUser"]
  expect(post.operationId).toBe("UserService_CreateUser")
  expect(post.description).toContain("Requires the permission user.write.")
  const page = await (await getPath("/openapi/v2")).text()
  expect(page).toContain("<title>Latchkey API, version 2</title>")
  expect(page).toContain("/openapi/v2/json")
  expect(page).not.toContain("/openapi/json")
})

test("unknown paths are not found", async () => {
  const ask = (path: string, method = "GET") =>
    openApiResponse(new Request(`http://id.test${path}`, { method }), path)
  expect(await ask("/openapi/yaml")).toBeUndefined()
  expect(await ask("/openapi", "POST")).toBeUndefined()
})
