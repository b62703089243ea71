import { describe, expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { deprecationHeadersOf } from "../../src/api/respond.ts"
import { json, worldOf } from "./world.ts"

const world = worldOf()
const methods = allServices.flatMap((service) => service.methods)

/** The headers that announce a deprecation. */
const deprecationHeaders = (headers: Headers) => ({
  deprecation: headers.get("deprecation"),
  link: headers.get("link"),
})

const deprecatedHeaders = {
  deprecation: expect.stringMatching(/^@\d{10}$/),
  link:
    '</core.project.v2.ProjectService/ListProjects>; rel="successor-version"; ' +
    'title="filter by the organisation, with the type GRANTED"',
}
const notDeprecated = { deprecation: null, link: null }

const management = "core.management.v1.ManagementService"

describe("a deprecated operation links to its successor", () => {
  test.each([
    ["REST", "/management/v1/granted_projects/_search", "owner", 200],
    ["REST at its bare path", "/granted_projects/_search", "owner", 200],
    ["Connect", `/${management}/ListGrantedProjects`, "owner", 200],
    ["REST, also where it refuses", "/management/v1/granted_projects/_search", "nobody", 403],
    ["Connect, also where it refuses", `/${management}/ListGrantedProjects`, "nobody", 403],
  ])("over %s", async (_, path, as, status) => {
    const answer = await world.fetch(path, { ...json({}), as })
    expect(answer.status).toBe(status)
    expect(deprecationHeaders(answer.headers)).toEqual(deprecatedHeaders)
    expect(answer.headers.get("access-control-expose-headers")).toMatch(/deprecation, link/)
  })

  test("over gRPC-Web", async () => {
    const answer = await world.fetch(`/${management}/ListGrantedProjects`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+proto" },
      body: new Uint8Array(5),
      as: "owner",
    })
    expect(answer.status).toBe(200)
    expect(deprecationHeaders(answer.headers)).toEqual(deprecatedHeaders)
  })
})

test.each([
  ["REST", "/management/v1/projects/p1/changes/_search"],
  ["Connect", "/core.project.v2.ProjectService/ListProjects"],
])("an operation that is not deprecated has no deprecation headers, over %s", async (_, path) => {
  const answer = await world.fetch(path, { ...json({}), as: "owner" })
  expect(answer.status).toBe(200)
  expect(deprecationHeaders(answer.headers)).toEqual(notDeprecated)
})

test("every successor is an operation that is not deprecated itself", () => {
  const named = methods.flatMap((each) => {
    const { link } = deprecationHeadersOf(each)
    return link === undefined ? [] : [/^<\/([^>]+)>/.exec(link)?.[1] ?? "none"]
  })
  expect(named.length).toBeGreaterThan(40)
  const fit = methods
    .filter(({ deprecated }) => !deprecated)
    .map(({ parent, name }) => `${parent.typeName}/${name}`)
  expect(named.filter((name) => !fit.includes(name))).toEqual([])
})

test("an operation that an older service shares with a newer one is deprecated there", () => {
  const newer = new Set(
    allServices
      .filter(({ typeName }) => /\.v2\.(User|Project|Application)Service$/.test(typeName))
      .flatMap((service) => service.methods.map(({ name }) => name)),
  )
  const both = methods.filter(
    ({ parent, name }) => parent.typeName === management && newer.has(name),
  )
  expect(both.length).toBeGreaterThan(5)
  expect(both.filter(({ deprecated }) => !deprecated).map(({ name }) => name)).toEqual([])
})
