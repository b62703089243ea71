import { Code, ConnectError } from "@connectrpc/connect"
import { describe, expect, it } from "vitest"
import { messageOf } from "../../ui/console/core.ts"
import { consoleDocument } from "../../ui/console/document.tsx"
import { linesOf } from "../../ui/console/lines.ts"
import { pathOf, type Route, routeOf } from "../../ui/console/route.ts"
import { agoOf } from "../../ui/console/time.tsx"

describe("addresses", () => {
  const routes: Route[] = [
    { page: "projects" },
    { page: "project", projectId: "300/1 ü" },
    { page: "new-application", projectId: "3" },
    { page: "applications" },
    { page: "application", applicationId: "4" },
    { page: "users" },
    { page: "new-user" },
    { page: "user", userId: "5" },
  ]
  it.each(routes)("of $page lead back to it", (route) => {
    expect(routeOf(pathOf(route))).toEqual(route)
  })

  it("of the console itself lead to the projects, with a slash or without", () => {
    expect(routeOf("/ui/console")).toEqual({ page: "projects" })
    expect(routeOf("/ui/console/")).toEqual({ page: "projects" })
  })

  it.each(["/x", "/projects/1/x", "/users/1/new-application", "/projects/1/new-application/2"])(
    "of nothing (%s) say so",
    (path) => expect(routeOf(`/ui/console${path}`)).toEqual({ page: "missing" }),
  )
})

describe("what pages say", () => {
  it("is the server's message as a sentence, without its id", () => {
    const refused = new ConnectError("there is no such project (project.missing)", Code.NotFound)
    expect(messageOf(refused)).toBe("There is no such project")
    expect(messageOf(new Error("Lost (for now)"))).toBe("Lost (for now)")
  })

  it.each([
    [0, "now"],
    [59, "now"],
    [61, "1 minute ago"],
    [2 * 3600, "2 hours ago"],
    [86_400, "yesterday"],
    [-365 * 86_400, "next year"],
  ])("of a time %d seconds ago is %s", (seconds, text) => {
    expect(agoOf("en", 1_700_000_000_000 - seconds * 1000, 1_700_000_000_000)).toBe(text)
  })

  it("takes one address a line, whatever surrounds it", () => {
    expect(linesOf(" https://a.example/cb \r\n\nhttps://b.example/cb\n")).toEqual([
      "https://a.example/cb",
      "https://b.example/cb",
    ])
    expect(linesOf("  \n ")).toEqual([])
  })
})

describe("the console's document", () => {
  const files = { css: "/k.css", consoleCss: "/c.css", pageJs: "/p.js", consoleJs: "/m.js" }
  const html = consoleDocument({ ...files, icon: "/i.svg" })

  it("carries nothing inline that its CSP would refuse", () => {
    expect(html).not.toMatch(/<style|<[^>]+\sstyle=|<[^>]+\son[a-z]+=/)
    const scripts = [...html.matchAll(/<script[^>]*>([^<]*)/g)].map((match) => match[1])
    expect(scripts).toEqual(["", ""])
  })

  it("has the language, a title, and a word for those without scripts", () => {
    expect(html).toContain(`<html lang="en">`)
    expect(html).toContain("<title>Latchkey</title>")
    expect(html).toMatch(/<noscript><p>[^<]+<\/p><\/noscript>/)
  })
})
