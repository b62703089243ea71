import { create } from "@bufbuild/protobuf"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { describe, expect, it } from "vitest"
import {
  OIDCConfigurationSchema,
  OIDCGrantType,
} from "../../src/gen/core/application/v2/application_pb.ts"
import { grantsOf, responsesFor } from "../../ui/console/application/protocol.ts"
import { isDenied, isFault, messageOf, unlessDenied } from "../../ui/console/core.ts"
import { consoleDocument } from "../../ui/console/document.tsx"
import { amountOf, durationOf, durationText } from "../../ui/console/duration.ts"
import { linesOf } from "../../ui/console/lines.ts"
import { fileNameOf } from "../../ui/console/once-box.tsx"
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

describe("a time as people type it", () => {
  it.each([
    [0, "0", "seconds", "0 seconds"],
    [10, "10", "seconds", "10 seconds"],
    [90, "90", "seconds", "90 seconds"],
    [60, "1", "minutes", "1 minute"],
    [43_200, "12", "hours", "12 hours"],
    [90 * 86_400, "90", "days", "90 days"],
  ])("of %d seconds is in the largest unit that fits, and comes back", (seconds, ...said) => {
    const [count, unit, text] = said
    const duration = durationFromMs(seconds * 1000)
    const amount = amountOf(duration)
    expect(amount).toEqual({ count, unit })
    expect(durationOf(amount)).toEqual(duration)
    expect(durationText("en", duration)).toBe(text)
  })

  it("is not said at all where nothing is typed", () => {
    expect(durationOf({ count: " ", unit: "hours" })).toBeUndefined()
    expect(amountOf(undefined, "days")).toEqual({ count: "", unit: "days" })
  })

  it("has a German", () => {
    expect(durationText("de", durationFromMs(86_400_000))).toBe("1 Tag")
  })
})

describe("grants and their response types", () => {
  it("are named in the order in which they are offered", () => {
    const { OIDC_GRANT_TYPE_REFRESH_TOKEN: refresh, OIDC_GRANT_TYPE_AUTHORIZATION_CODE: code } =
      OIDCGrantType
    const oidc = create(OIDCConfigurationSchema, { grantTypes: [refresh, code] })
    expect(grantsOf(oidc)).toEqual(["authorization_code", "refresh_token"])
  })

  it("fit together: a response type goes with its grant", () => {
    expect(responsesFor(["authorization_code"], ["code", "id_token"])).toEqual(["code"])
    expect(responsesFor(["implicit"], ["code", "id_token"])).toEqual(["id_token"])
  })

  it("are never without a response type, which no request could say", () => {
    expect(responsesFor(["implicit"], ["code"])).toEqual(["id_token_token"])
    expect(responsesFor(["authorization_code", "implicit"], [])).toEqual(["code"])
    expect(responsesFor(["device_code"], [])).toEqual(["code"])
  })
})

describe("what one may not see", () => {
  const denied = new ConnectError("this needs the permission x (access.denied)", 7)

  it("is told from what failed, and replaced", async () => {
    expect(isDenied(denied)).toBe(true)
    expect(isFault(denied, "access.denied")).toBe(true)
    expect(isFault(denied, "denied")).toBe(false)
    expect(await unlessDenied(Promise.reject(denied), 7)).toBe(7)
    expect(await unlessDenied(Promise.resolve(8), 7)).toBe(8)
    await expect(unlessDenied(Promise.reject(new Error("down")), 7)).rejects.toThrow("down")
  })
})

it("a file is named after a thing whatever that is called", () => {
  expect(fileNameOf("Größe / ../x y-secret.txt")).toBe("Größe-..-x-y-secret.txt")
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
