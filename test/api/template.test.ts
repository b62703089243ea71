import { Elysia } from "elysia"
import { expect, test } from "vitest"
import {
  canonicalPath,
  captureFields,
  parseTemplate,
  patternOf,
} from "../../src/api/encoding/template.ts"

/** Returns a function that finds the route of a path. */
function createRouter(...paths: readonly string[]) {
  const root = new Elysia({ strictPath: true, handler: { standardHostname: false } })
  for (const path of paths) {
    const parts = parseTemplate(path) ?? []
    root.get(patternOf(parts), async ({ request }) => {
      const captured = captureFields(parts, new URL(request.url).pathname)
      return Response.json(captured ? [path, ...captured] : "nothing")
    })
  }
  root.all("/*", async () => Response.json("nothing"))
  return async (path: string) => {
    const answer = await root.handle(new Request(`http://nas${canonicalPath(path)}`))
    return answer.json()
  }
}

test("the most specific template wins, in whatever order they are added", async () => {
  const paths = [
    "/users/{id}",
    "/users/me",
    "/users/{id}/keys",
    "/users/me/{part}",
    "/users/{rest=**}",
  ]
  for (const find of [createRouter(...paths), createRouter(...paths.toReversed())]) {
    expect(await find("/users/me")).toEqual(["/users/me"])
    expect(await find("/users/7")).toEqual(["/users/{id}", "7"])
    expect(await find("/users/me/keys")).toEqual(["/users/me/{part}", "keys"])
    expect(await find("/users/7/keys")).toEqual(["/users/{id}/keys", "7"])
    expect(await find("/users/7/keys/8")).toEqual(["/users/{rest=**}", "7/keys/8"])
  }
})

test("a literal without a match does not hide a field with one", async () => {
  const find = createRouter("/users/me/name", "/users/{id}/keys")
  expect(await find("/users/me/keys")).toEqual(["/users/{id}/keys", "me"])
})

test("the last field can match several segments, but not zero", async () => {
  const find = createRouter("/projects/{project_id}/roles/{role_key=**}")
  const template = "/projects/{project_id}/roles/{role_key=**}"
  expect(await find("/projects/1/roles/a")).toEqual([template, "1", "a"])
  expect(await find("/projects/1/roles/a/b/c")).toEqual([template, "1", "a/b/c"])
  expect(await find("/projects/1/roles")).toBe("nothing")
  expect(await find("/projects/1/roles/")).toBe("nothing")
})

test("an empty segment does not match a field", async () => {
  const find = createRouter("/users/{id}", "/users/{id}/keys")
  expect(await find("/users/")).toBe("nothing")
  expect(await find("/users//keys")).toBe("nothing")
  expect(await find("//users/7")).toBe("nothing")
})

test("a path matches in any spelling, and an encoded slash stays in its field", async () => {
  const find = createRouter("/users/{id}/keys", "/roles/{role_key=**}")
  expect(await find("/%75sers/a%2Fb/k%65ys")).toEqual(["/users/{id}/keys", "a/b"])
  expect(await find("/users/%C3%BC/keys")).toEqual(["/users/{id}/keys", "ü"])
  expect(await find("/users/a:b@c,d/keys")).toEqual(["/users/{id}/keys", "a:b@c,d"])
  expect(await find("/roles/a%2Fb/c%25")).toEqual(["/roles/{role_key=**}", "a/b/c%"])
  expect(await find("/users/a/keys%2F")).toBe("nothing")
  expect(canonicalPath("/users/%ff/keys")).toBeUndefined()
})

test("rejects unsupported template forms", () => {
  for (const text of [
    "users",
    "/users/{id",
    "/a/{b=**}/c",
    "/a/{b=c/*}",
    "/a/*",
    "/a//b",
    "/a:b",
  ]) {
    expect([text, parseTemplate(text)]).toEqual([text, undefined])
  }
  expect(parseTemplate("/")).toEqual([])
})
