import { describe, expect, test } from "vitest"
import type { ListInstanceDomainsRequest } from "../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { CreateWebKeyRequest } from "../../src/gen/core/resources/webkey/v3alpha/webkey_service_pb.ts"
import { type Answer, json, worldOf } from "./world.ts"

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"
const webKeys = "core.resources.webkey.v3alpha.CoreWebKeys"

const answers: Readonly<Record<string, Answer>> = {
  [`${admin}/ListInstanceDomains`]: ({ query }: ListInstanceDomainsRequest) => ({
    details: { totalResult: query?.offset ?? 0n },
    result: [{ domain: "id.test", primary: true }],
  }),
  [`${webKeys}/CreateWebKey`]: ({ key }: CreateWebKeyRequest) => ({
    details: { id: key?.config.case ?? "none" },
  }),
}
const world = worldOf(answers)

/** The request that reached the handler, with its context. */
async function requestAt(path: string, init: RequestInit & { as?: string } = {}) {
  const before = world.handled.length
  const response = await world.fetch(path, { as: "owner", ...init })
  const body = await response.text()
  if (world.handled.length === before) throw new Error(`${response.status} ${body}`)
  return { status: response.status, body: JSON.parse(body), ...world.handled.at(-1) }
}

describe("the paths of a service family", () => {
  test("start with its prefix", async () => {
    const paths = [
      "/admin/v1/healthz",
      "/auth/v1/healthz",
      "/management/v1/healthz",
      "/system/v1/healthz",
    ]
    for (const path of paths) {
      const response = await world.fetch(path)
      expect([path, response.status, await response.text()]).toEqual([path, 200, "{}"])
    }
    const methods = world.handled.map(({ method }) => method)
    expect(methods.slice(-4)).toEqual([
      `${admin}/Healthz`,
      "core.auth.v1.AuthService/Healthz",
      `${management}/Healthz`,
      "core.system.v1.SystemService/Healthz",
    ])
  })

  test("are also served without the prefix where the list of bare paths names the family", async () => {
    expect((await requestAt("/healthz")).method).toBe("core.system.v1.SystemService/Healthz")
    expect((await requestAt("/iam")).method).toBe(`${management}/GetIAM`)
    expect((await requestAt("/domains/_search", json({}))).method).toBe(
      `${admin}/ListInstanceDomains`,
    )
    expect((await requestAt("/global/projectorgs/_search", json({}))).method).toBe(
      "core.auth.v1.AuthService/ListMyProjectOrgs",
    )
    expect((await requestAt("/")).method).toBe(`${webKeys}/ListWebKeys`)
    expect((await requestAt("/", json({ rsa: {} }))).method).toBe(`${webKeys}/CreateWebKey`)
    expect((await world.fetch("/projects/p1", { as: "owner" })).status).toBe(599)
  })

  test("can end in a key with slashes, encoded or not", async () => {
    const body = JSON.stringify({ displayName: "Editor" })
    const put = { method: "PUT", body, headers: { "content-type": "application/json" } }
    for (const [written, roleKey] of [
      ["team/editor", "team/editor"],
      ["team%2Feditor", "team/editor"],
      ["a%20b/c%25", "a b/c%"],
    ]) {
      const path = `/management/v1/projects/p1/roles/${written}`
      expect((await requestAt(path, put)).request).toMatchObject({
        projectId: "p1",
        roleKey,
        displayName: "Editor",
      })
      const gone = await requestAt(path, { method: "DELETE" })
      expect(gone).toMatchObject({
        method: `${management}/RemoveProjectRole`,
        request: { projectId: "p1", roleKey },
      })
    }
    const bulk = await requestAt("/management/v1/projects/p1/roles/_bulk", json({ roles: [] }))
    expect(bulk.method).toBe(`${management}/BulkAddProjectRoles`)
  })

  test("have no trailing slash if they end at the prefix", async () => {
    const path = "/resources/v3alpha/web_keys"
    expect((await requestAt(path)).method).toBe(`${webKeys}/ListWebKeys`)
    expect((await world.fetch(`${path}/`, { as: "owner" })).status).toBe(599)
  })
})

describe("the root", () => {
  test("serves pages to browsers and a status to all other clients", async () => {
    const page = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } }
    expect((await world.fetch("/", page)).status).toBe(599)
    expect((await world.fetch("/", { ...page, as: "owner" })).status).toBe(200)
    expect((await world.fetch("/", { as: "owner" })).status).toBe(200)
    expect((await world.fetch("/", { headers: { accept: "application/json" } })).status).toBe(401)
  })
})

describe("a request", () => {
  test("takes fields from the path", async () => {
    const { request } = await requestAt("/management/v1/projects/p1")
    expect(request).toMatchObject({ id: "p1" })
  })

  test("decodes percent-encoding in a segment, including a slash, but not to another path", async () => {
    const response = await world.fetch("/management/v1/projects/p1%2F_deactivate", { as: "owner" })
    expect(response.status).toBe(404)
    expect(world.ended.at(-1)?.method).toBe(`${management}/GetProjectByID`)
    expect(world.ended.at(-1)?.request()).toEqual({ id: "p1/_deactivate" })
  })

  test("takes a list query from the query string, with an empty body or {}", async () => {
    const wanted = { query: { offset: 9_007_199_254_740_993n, limit: 5, asc: true } }
    const path =
      "/admin/v1/domains/_search?query.offset=9007199254740993&query.limit=5&query.asc=true"
    for (const init of [json({}), json(""), json(" { } "), { method: "POST" }]) {
      const got = await requestAt(path, init)
      expect(got.request).toMatchObject(wanted)
      expect(got.body.details.totalResult).toBe("9007199254740993")
    }
    for (const column of [
      "sortingColumn=2",
      "sorting_column=2",
      "sortingColumn=DOMAIN_FIELD_NAME_PRIMARY",
    ]) {
      expect(
        (await requestAt(`/domains/_search?${column}`, { method: "POST" })).request,
      ).toMatchObject({
        sortingColumn: 2,
      })
    }
  })

  test("takes one field from the body if the rule says so, and the others from the path", async () => {
    const { request } = await requestAt(
      "/?instance.id=i1",
      json({ ecdsa: { curve: "ECDSA_CURVE_P384" } }),
    )
    expect(request).toMatchObject({
      instance: { property: { case: "id", value: "i1" } },
      key: { config: { case: "ecdsa", value: { curve: 2 } } },
    })
    expect((await requestAt("/", { method: "POST" })).body).toEqual({ details: { id: "none" } })
  })

  test("can have snake_case fields and numeric enum values", async () => {
    const body = { name: "n", private_labeling_setting: 1, projectRoleAssertion: true }
    const { request } = await requestAt("/management/v1/projects", json(body))
    expect(request).toMatchObject({
      name: "n",
      privateLabelingSetting: 1,
      projectRoleAssertion: true,
    })
  })

  test("uses the path's value, whatever the body contains", async () => {
    const init = json({ id: "p2", name: "n" }, { method: "PUT" })
    const { request } = await requestAt("/management/v1/projects/p1", init)
    expect(request).toMatchObject({ id: "p1", name: "n" })
  })

  test("accepts a DELETE with or without a body", async () => {
    for (const init of [{}, json({}), json({ id: "s1" })]) {
      const { request } = await requestAt("/actions/s1", { ...init, method: "DELETE" })
      expect(request).toMatchObject({ id: "s1" })
    }
  })

  test("can omit its body", async () => {
    const path = "/management/v1/projects/p1/_deactivate"
    expect((await requestAt(path, { method: "POST" })).request).toMatchObject({ id: "p1" })
    expect((await requestAt(path, json({}))).request).toMatchObject({ id: "p1" })
  })

  test("can have a content type in any case and with a charset", async () => {
    const headers = { "content-type": "Application/JSON; charset=UTF-8" }
    const { request } = await requestAt("/management/v1/projects", json({ name: "n" }, { headers }))
    expect(request).toMatchObject({ name: "n" })
  })

  test("names the organization of its context in x-core-orgid", async () => {
    const { cx } = await requestAt("/management/v1/orgs/me", { headers: { "x-core-orgid": "o2" } })
    expect(cx?.orgId).toBe("o2")
    expect((await requestAt("/management/v1/orgs/me")).cx?.orgId).toBe("o1")
  })
})

describe("a verb", () => {
  test("returns the allowed methods if the path does not support it", async () => {
    const response = await world.fetch("/management/v1/projects/p1", {
      method: "POST",
      as: "owner",
    })
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")).toBe("GET, HEAD, PUT, DELETE")
    expect(await response.json()).toMatchObject({
      code: 12,
      message: "this path accepts only GET, PUT, DELETE (request.method_wrong)",
    })
  })

  test("treats HEAD as GET", async () => {
    expect((await world.fetch("/healthz", { method: "HEAD" })).status).toBe(200)
  })
})

describe("a page of another origin", () => {
  test("can send preflight requests without a token", async () => {
    const paths = ["/management/v1/projects", "/core.user.v2.UserService/CreateUser", "/"]
    for (const path of paths) {
      const response = await world.fetch(path, { method: "OPTIONS" })
      expect(response.status).toBe(204)
      expect(response.headers.get("access-control-allow-origin")).toBe("*")
      expect(response.headers.get("access-control-allow-headers")).toContain("authorization")
      expect(response.headers.has("access-control-allow-credentials")).toBe(false)
    }
    expect((await world.fetch("/nowhere", { method: "OPTIONS" })).status).toBe(599)
  })

  test("can read responses and errors", async () => {
    for (const path of ["/healthz", "/iam"]) {
      const response = await world.fetch(path)
      expect(response.headers.get("access-control-allow-origin")).toBe("*")
      expect(response.headers.get("access-control-expose-headers")).toContain("grpc-status")
    }
  })
})
