import { Elysia } from "elysia"
import { expect, test } from "vitest"
import { canonicalOf, capturedBy, patternOf, templateOf } from "../../src/api/encoding/template.ts"

/** Answers by the route of a path, as it would an operation at a template. */
function routesAt(...paths: readonly string[]) {
  const root = new Elysia({ strictPath: true, handler: { standardHostname: false } })
  for (const path of paths) {
    const parts = templateOf(path) ?? []
    root.get(patternOf(parts), async ({ request }) => {
      const captured = capturedBy(parts, new URL(request.url).pathname)
      return Response.json(captured ? [path, ...captured] : "nothing")
    })
  }
  root.all("/*", async () => Response.json("nothing"))
  return async (path: string) => {
    const answer = await root.handle(new Request(`http://nas${canonicalOf(path)}`))
    return answer.json()
  }
}

test("the most exact template wins, in whatever order they were added", async () => {
  const paths = [
    "/users/{id}",
    "/users/me",
    "/users/{id}/keys",
    "/users/me/{part}",
    "/users/{rest=**}",
  ]
  for (const find of [routesAt(...paths), routesAt(...paths.toReversed())]) {
    expect(await find("/users/me")).toEqual(["/users/me"])
    expect(await find("/users/7")).toEqual(["/users/{id}", "7"])
    expect(await find("/users/me/keys")).toEqual(["/users/me/{part}", "keys"])
    expect(await find("/users/7/keys")).toEqual(["/users/{id}/keys", "7"])
    expect(await find("/users/7/keys/8")).toEqual(["/users/{rest=**}", "7/keys/8"])
  }
})

test("a literal that leads nowhere does not hide a field that leads on", async () => {
  const find = routesAt("/users/me/name", "/users/{id}/keys")
  expect(await find("/users/me/keys")).toEqual(["/users/{id}/keys", "me"])
})

test("the last field may take several segments, but never none", async () => {
  const find = routesAt("/projects/{project_id}/roles/{role_key=**}")
  const template = "/projects/{project_id}/roles/{role_key=**}"
  expect(await find("/projects/1/roles/a")).toEqual([template, "1", "a"])
  expect(await find("/projects/1/roles/a/b/c")).toEqual([template, "1", "a/b/c"])
  expect(await find("/projects/1/roles")).toBe("nothing")
  expect(await find("/projects/1/roles/")).toBe("nothing")
})

test("an empty segment fills no field", async () => {
  const find = routesAt("/users/{id}", "/users/{id}/keys")
  expect(await find("/users/")).toBe("nothing")
  expect(await find("/users//keys")).toBe("nothing")
  expect(await find("//users/7")).toBe("nothing")
})

test("a path is the same however it is written, and a slash in a field stays in it", async () => {
  const find = routesAt("/users/{id}/keys", "/roles/{role_key=**}")
  expect(await find("/%75sers/a%2Fb/k%65ys")).toEqual(["/users/{id}/keys", "a/b"])
  expect(await find("/users/%C3%BC/keys")).toEqual(["/users/{id}/keys", "ü"])
  expect(await find("/users/a:b@c,d/keys")).toEqual(["/users/{id}/keys", "a:b@c,d"])
  expect(await find("/roles/a%2Fb/c%25")).toEqual(["/roles/{role_key=**}", "a/b/c%"])
  expect(await find("/users/a/keys%2F")).toBe("nothing")
  expect(canonicalOf("/users/%ff/keys")).toBeUndefined()
})

test("forms that are not served are no templates", () => {
  for (const text of [
    "users",
    "/users/{id",
    "/a/{b=**}/c",
    "/a/{b=c/*}",
    "/a/*",
    "/a//b",
    "/a:b",
  ]) {
    expect([text, templateOf(text)]).toEqual([text, undefined])
  }
  expect(templateOf("/")).toEqual([])
})
