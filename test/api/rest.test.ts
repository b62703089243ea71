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

/** The request that reached the room, with what the room was called for. */
async function reached(path: string, init: RequestInit & { as?: string } = {}) {
  const before = world.handled.length
  const response = await world.fetch(path, { as: "owner", ...init })
  const body = await response.text()
  if (world.handled.length === before) throw new Error(`${response.status} ${body}`)
  return { status: response.status, body: JSON.parse(body), ...world.handled.at(-1) }
}

describe("the paths of a family", () => {
  test("lie below its prefix", async () => {
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

  test("answer bare only where the list says so, with the family that it names", async () => {
    expect((await reached("/healthz")).method).toBe("core.system.v1.SystemService/Healthz")
    expect((await reached("/iam")).method).toBe(`${management}/GetIAM`)
    expect((await reached("/domains/_search", json({}))).method).toBe(
      `${admin}/ListInstanceDomains`,
    )
    expect((await reached("/global/projectorgs/_search", json({}))).method).toBe(
      "core.auth.v1.AuthService/ListMyProjectOrgs",
    )
    expect((await reached("/")).method).toBe(`${webKeys}/ListWebKeys`)
    expect((await reached("/", json({ rsa: {} }))).method).toBe(`${webKeys}/CreateWebKey`)
    expect((await world.fetch("/projects/p1", { as: "owner" })).status).toBe(599)
  })

  test("may end in a key with slashes, encoded or not", async () => {
    const body = JSON.stringify({ displayName: "Editor" })
    const put = { method: "PUT", body, headers: { "content-type": "application/json" } }
    for (const [written, roleKey] of [
      ["team/editor", "team/editor"],
      ["team%2Feditor", "team/editor"],
      ["a%20b/c%25", "a b/c%"],
    ]) {
      const path = `/management/v1/projects/p1/roles/${written}`
      expect((await reached(path, put)).request).toMatchObject({
        projectId: "p1",
        roleKey,
        displayName: "Editor",
      })
      const gone = await reached(path, { method: "DELETE" })
      expect(gone).toMatchObject({
        method: `${management}/RemoveProjectRole`,
        request: { projectId: "p1", roleKey },
      })
    }
    const bulk = await reached("/management/v1/projects/p1/roles/_bulk", json({ roles: [] }))
    expect(bulk.method).toBe(`${management}/BulkAddProjectRoles`)
  })

  test("that ends at the prefix has no slash after it", async () => {
    const path = "/resources/v3alpha/web_keys"
    expect((await reached(path)).method).toBe(`${webKeys}/ListWebKeys`)
    expect((await world.fetch(`${path}/`, { as: "owner" })).status).toBe(599)
  })
})

describe("the root", () => {
  test("is left to the pages when a person opens it, and answers everybody else", async () => {
    const page = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } }
    expect((await world.fetch("/", page)).status).toBe(599)
    expect((await world.fetch("/", { ...page, as: "owner" })).status).toBe(200)
    expect((await world.fetch("/", { as: "owner" })).status).toBe(200)
    expect((await world.fetch("/", { headers: { accept: "application/json" } })).status).toBe(401)
  })
})

describe("a request", () => {
  test("takes fields from the path", async () => {
    const { request } = await reached("/management/v1/projects/p1")
    expect(request).toMatchObject({ id: "p1" })
  })

  test("reads %-codes in a segment, also a slash, and never as another path", async () => {
    const response = await world.fetch("/management/v1/projects/p1%2F_deactivate", { as: "owner" })
    expect(response.status).toBe(404)
    expect(world.ended.at(-1)?.method).toBe(`${management}/GetProjectByID`)
    expect(world.ended.at(-1)?.request()).toEqual({ id: "p1/_deactivate" })
  })

  test("takes a list query from the address, with an empty body or {}", async () => {
    const wanted = { query: { offset: 9_007_199_254_740_993n, limit: 5, asc: true } }
    const path =
      "/admin/v1/domains/_search?query.offset=9007199254740993&query.limit=5&query.asc=true"
    for (const init of [json({}), json(""), json(" { } "), { method: "POST" }]) {
      const got = await reached(path, init)
      expect(got.request).toMatchObject(wanted)
      expect(got.body.details.totalResult).toBe("9007199254740993")
    }
    for (const column of [
      "sortingColumn=2",
      "sorting_column=2",
      "sortingColumn=DOMAIN_FIELD_NAME_PRIMARY",
    ]) {
      expect(
        (await reached(`/domains/_search?${column}`, { method: "POST" })).request,
      ).toMatchObject({
        sortingColumn: 2,
      })
    }
  })

  test("takes one field from the body where the rule says so, others from the path", async () => {
    const { request } = await reached(
      "/?instance.id=i1",
      json({ ecdsa: { curve: "ECDSA_CURVE_P384" } }),
    )
    expect(request).toMatchObject({
      instance: { property: { case: "id", value: "i1" } },
      key: { config: { case: "ecdsa", value: { curve: 2 } } },
    })
    expect((await reached("/", { method: "POST" })).body).toEqual({ details: { id: "none" } })
  })

  test("may spell fields in snake_case and enums by number", async () => {
    const body = { name: "n", private_labeling_setting: 1, projectRoleAssertion: true }
    const { request } = await reached("/management/v1/projects", json(body))
    expect(request).toMatchObject({
      name: "n",
      privateLabelingSetting: 1,
      projectRoleAssertion: true,
    })
  })

  test("is about what its path says, whatever its body says", async () => {
    const init = json({ id: "p2", name: "n" }, { method: "PUT" })
    const { request } = await reached("/management/v1/projects/p1", init)
    expect(request).toMatchObject({ id: "p1", name: "n" })
  })

  test("takes the body of a DELETE, and does without", async () => {
    for (const init of [{}, json({}), json({ id: "s1" })]) {
      const { request } = await reached("/actions/s1", { ...init, method: "DELETE" })
      expect(request).toMatchObject({ id: "s1" })
    }
  })

  test("may leave its body out", async () => {
    const path = "/management/v1/projects/p1/_deactivate"
    expect((await reached(path, { method: "POST" })).request).toMatchObject({ id: "p1" })
    expect((await reached(path, json({}))).request).toMatchObject({ id: "p1" })
  })

  test("may say what its body is in any case and with a charset", async () => {
    const headers = { "content-type": "Application/JSON; charset=UTF-8" }
    const { request } = await reached("/management/v1/projects", json({ name: "n" }, { headers }))
    expect(request).toMatchObject({ name: "n" })
  })

  test("names the organisation of its context in x-core-orgid", async () => {
    const { cx } = await reached("/management/v1/orgs/me", { headers: { "x-core-orgid": "o2" } })
    expect(cx?.orgId).toBe("o2")
    expect((await reached("/management/v1/orgs/me")).cx?.orgId).toBe("o1")
  })
})

describe("a verb", () => {
  test("that a path does not take is answered with those that it takes", async () => {
    const response = await world.fetch("/management/v1/projects/p1", {
      method: "POST",
      as: "owner",
    })
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")).toBe("GET, HEAD, PUT, DELETE")
    expect(await response.json()).toMatchObject({
      code: 12,
      message: "this path takes GET, PUT, DELETE (request.method_wrong)",
    })
  })

  test("HEAD is GET", async () => {
    expect((await world.fetch("/healthz", { method: "HEAD" })).status).toBe(200)
  })
})

describe("a page of another origin", () => {
  test("may ask what it may send, without a token", async () => {
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

  test("may read answers and errors", async () => {
    for (const path of ["/healthz", "/iam"]) {
      const response = await world.fetch(path)
      expect(response.headers.get("access-control-allow-origin")).toBe("*")
      expect(response.headers.get("access-control-expose-headers")).toContain("grpc-status")
    }
  })
})
