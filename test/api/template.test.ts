import { expect, test } from "vitest"
import { segmentsOf, templateOf, treeOf } from "../../src/api/encoding/template.ts"

function treeWith(...paths: readonly string[]) {
  const tree = treeOf<string>()
  for (const path of paths) tree.add("GET", templateOf(path) ?? [], path)
  return (path: string) => {
    const found = tree.find("GET", segmentsOf(path))
    return found.kind === "found" ? [found.value, ...found.captured] : found.kind
  }
}

test("the most exact template wins, in whatever order they were added", () => {
  const paths = [
    "/users/{id}",
    "/users/me",
    "/users/{id}/keys",
    "/users/me/{part}",
    "/users/{rest=**}",
  ]
  for (const find of [treeWith(...paths), treeWith(...paths.toReversed())]) {
    expect(find("/users/me")).toEqual(["/users/me"])
    expect(find("/users/7")).toEqual(["/users/{id}", "7"])
    expect(find("/users/me/keys")).toEqual(["/users/me/{part}", "keys"])
    expect(find("/users/7/keys")).toEqual(["/users/{id}/keys", "7"])
    expect(find("/users/7/keys/8")).toEqual(["/users/{rest=**}", "7/keys/8"])
  }
})

test("a literal that leads nowhere does not hide a field that leads on", () => {
  const find = treeWith("/users/me/name", "/users/{id}/keys")
  expect(find("/users/me/keys")).toEqual(["/users/{id}/keys", "me"])
})

test("the last field may take several segments, but never none", () => {
  const find = treeWith("/projects/{project_id}/roles/{role_key=**}")
  const template = "/projects/{project_id}/roles/{role_key=**}"
  expect(find("/projects/1/roles/a")).toEqual([template, "1", "a"])
  expect(find("/projects/1/roles/a/b/c")).toEqual([template, "1", "a/b/c"])
  expect(find("/projects/1/roles")).toBe("nothing")
  expect(find("/projects/1/roles/")).toBe("nothing")
})

test("an empty segment fills no field", () => {
  const find = treeWith("/users/{id}", "/users/{id}/keys")
  expect(find("/users/")).toBe("nothing")
  expect(find("/users//keys")).toBe("nothing")
  expect(find("//users/7")).toBe("nothing")
})

test("two templates of one shape are the same place, whatever their fields are called", () => {
  const tree = treeOf<string>()
  expect(tree.add("GET", templateOf("/users/{id}") ?? [], "a")).toBeUndefined()
  expect(tree.add("PUT", templateOf("/users/{id}") ?? [], "b")).toBeUndefined()
  expect(tree.add("GET", templateOf("/users/{user_id}") ?? [], "c")).toBe("a")
  expect(tree.find("DELETE", ["users", "7"])).toEqual({
    kind: "other verbs",
    verbs: ["GET", "PUT"],
  })
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
