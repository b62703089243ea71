import { create, getOption } from "@bufbuild/protobuf"
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { describe, expect, it } from "vitest"
import {
  OIDCConfigurationSchema,
  OIDCGrantType,
} from "../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../src/gen/core/application/v2/application_service_pb.ts"
import { DiagnosisService } from "../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { GroupService } from "../../src/gen/core/group/v2/group_service_pb.ts"
import { ManagementService } from "../../src/gen/core/management/v1/management_service_pb.ts"
import { MessageService } from "../../src/gen/core/message/v2/message_service_pb.ts"
import { access } from "../../src/gen/core/options_pb.ts"
import { OrganizationService } from "../../src/gen/core/org/v2/organization_service_pb.ts"
import { ProjectService } from "../../src/gen/core/project/v2/project_service_pb.ts"
import { OIDCSettingsSchema } from "../../src/gen/core/settings/v1/settings_pb.ts"
import { UserService } from "../../src/gen/core/user/v2/user_service_pb.ts"
import { ErrorDetailSchema } from "../../src/gen/core/v1/error_pb.ts"
import { State, WebKeySchema } from "../../src/gen/core/webkey/v2/webkey_pb.ts"
import { BadRequestSchema } from "../../src/gen/google/rpc/error_details_pb.ts"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import { groupPermissions, levelOf, levels } from "../../ui/console/administrator/role.ts"
import { requiredPermissions } from "../../ui/console/app/destinations.ts"
import { consoleDocument } from "../../ui/console/app/document.tsx"
import { grantsOf, selectResponseTypes } from "../../ui/console/application/protocol.ts"
import {
  amountFromDuration,
  durationFromAmount,
  formatDuration,
} from "../../ui/console/form/duration.ts"
import { linesOf } from "../../ui/console/form/lines.ts"
import { restrictionChange } from "../../ui/console/instance/restriction-change.ts"
import {
  keyKinds,
  keyLabel,
  kindNames,
  nextRotation,
  stateOf,
} from "../../ui/console/instance/web-key.ts"
import { formatNumber } from "../../ui/console/list/differences.tsx"
import { fileNameOf } from "../../ui/console/list/one-time-secret.tsx"
import { makeVisible, splitAtDifference } from "../../ui/console/refused-request/difference.ts"
import { isDenied, refusalOf, unreachableId } from "../../ui/console/shell/refusal.ts"
import { relativeTime } from "../../ui/console/shell/relative-time.ts"
import { addTexts, setLanguage } from "../../ui/console/shell/text.ts"
import { ButtonLink } from "../../ui/kit/button.tsx"

describe("texts of pages", () => {
  it.each([
    [0, "now"],
    [59, "now"],
    [61, "1 minute ago"],
    [2 * 3600, "2 hours ago"],
    [86_400, "yesterday"],
    [-365 * 86_400, "next year"],
    [-7 * 86_400 + 2, "in 7 days"],
    [6.9 * 86_400, "6 days ago"],
  ])("for a time %d seconds ago are %s", (seconds, text) => {
    expect(relativeTime("en", 1_700_000_000_000 - seconds * 1000, 1_700_000_000_000)).toBe(text)
  })

  it("accept one address per line, with surrounding spaces", () => {
    expect(linesOf(" https://a.example/cb \r\n\nhttps://b.example/cb\n")).toEqual([
      "https://a.example/cb",
      "https://b.example/cb",
    ])
    expect(linesOf("  \n ")).toEqual([])
  })
})

describe("a duration input", () => {
  it.each([
    [0, "0", "seconds", "0 seconds"],
    [0.5, "0.5", "seconds", "0.5 seconds"],
    [61.001, "61.001", "seconds", "61.001 seconds"],
    [10, "10", "seconds", "10 seconds"],
    [90, "90", "seconds", "90 seconds"],
    [60, "1", "minutes", "1 minute"],
    [43_200, "12", "hours", "12 hours"],
    [90 * 86_400, "90", "days", "90 days"],
  ])("of %s seconds uses the largest exact unit, and is parsed back", (seconds, ...values) => {
    const [count, unit, text] = values
    const duration = durationFromMs(seconds * 1000)
    const amount = amountFromDuration(duration)
    expect(amount).toEqual({ count, unit })
    expect(durationFromAmount(amount)).toEqual(duration)
    expect(formatDuration(duration)).toBe(text)
  })

  it("is omitted if it is empty", () => {
    expect(durationFromAmount({ count: " ", unit: "hours" })).toBeUndefined()
    expect(amountFromDuration(undefined, "days")).toEqual({ count: "", unit: "days" })
  })

  it("exist in German:", () => {
    setLanguage("de")
    expect(formatDuration(durationFromMs(86_400_000))).toBe("1 Tag")
    setLanguage("en")
  })
})

describe("a changed number", () => {
  it.each([
    [5000, "timeoutMs", "5 seconds"],
    [250, "timeoutMs", "250 ms"],
    [43_200, "accessTokenLifetime", "12 hours"],
    [3600, "expiry", "1 hour"],
    [7_776_000, "periodSeconds", "90 days"],
    [8, "minLength", "8"],
  ])("%d, of %s, is formatted for readers", (value, name, text) => {
    expect(formatNumber(value, name)).toBe(text)
  })

  it("is a time if it is larger than any other number", () => {
    expect(formatNumber(Date.UTC(2026, 10, 24, 12), "created")).toMatch(/^Nov 2\d, 2026, \d/)
  })

  it("is Never if the server does not expire it", () => {
    addTexts({ "detail.never": "Never" })
    expect(formatNumber(Date.UTC(9999, 11, 31, 23, 59, 59), "expiry")).toBe("Never")
  })
})

describe("grants and their response types", () => {
  it("are listed in the order of the form", () => {
    const { OIDC_GRANT_TYPE_REFRESH_TOKEN: refresh, OIDC_GRANT_TYPE_AUTHORIZATION_CODE: code } =
      OIDCGrantType
    const oidc = create(OIDCConfigurationSchema, { grantTypes: [refresh, code] })
    expect(grantsOf(oidc)).toEqual(["authorization_code", "refresh_token"])
  })

  it("are consistent: a response type requires its grant", () => {
    expect(selectResponseTypes(["authorization_code"], ["code", "id_token"])).toEqual(["code"])
    expect(selectResponseTypes(["implicit"], ["code", "id_token"])).toEqual(["id_token"])
  })

  it("always have a response type, which requests need", () => {
    expect(selectResponseTypes(["implicit"], ["code"])).toEqual(["id_token_token"])
    expect(selectResponseTypes(["authorization_code", "implicit"], [])).toEqual(["code"])
    expect(selectResponseTypes(["device_code"], [])).toEqual(["code"])
  })
})

describe("the difference of two texts", () => {
  it.each([
    ["https://a/cb/", "https://a/cb", 12, 0, "/", ""],
    ["http://a:3001/cb", "http://a:3000/cb", 12, 3, "1", "0"],
    ["https://a/cb", "https://a/cb/", 12, 0, "", "/"],
    ["aa", "aaa", 2, 0, "", "a"],
    ["", "x", 0, 0, "", "x"],
  ])("%j and %j differ between their common ends", (...row) => {
    const [received, nearest, sameStart, sameEnd, extra, lacking] = row
    const same = { sameStart, sameEnd }
    for (const [text, different] of [
      [received, extra],
      [nearest, lacking],
    ] as const) {
      const cut = splitAtDifference(text, same)
      expect(cut.different).toBe(different)
      expect(cut.before + cut.different + cut.after).toBe(text)
    }
  })

  it("never splits a character, or exceeds the end", () => {
    expect(splitAtDifference("a😀", { sameStart: 2, sameEnd: 0 }).different).toBe("😀")
    expect(splitAtDifference("ab", { sameStart: 9, sameEnd: 9 })).toEqual({
      before: "ab",
      different: "",
      after: "",
    })
  })

  it("is visible even if it is a space", () => {
    expect(makeVisible("a b\t\n\u00a0")).toBe("a␣b⇥⏎␣")
  })
})

describe("signing keys", () => {
  const day = 86_400
  const keyRotation = { enabled: true, period: { seconds: BigInt(90 * day) } }
  const settings = create(OIDCSettingsSchema, { keyRotation })
  const made = (state: State) =>
    create(WebKeySchema, {
      state,
      key: keyKinds["ES256 · P-256"],
      changeDate: timestampFromMs(1000),
    })

  it.each(kindNames)("are named after their algorithm: %s", (name) => {
    expect(keyLabel(create(WebKeySchema, { key: keyKinds[name] }))).toBe(name)
  })

  it("that sign are replaced after their period", () => {
    const turn = nextRotation(made(State.ACTIVE), settings)
    expect(turn).toEqual(timestampFromMs(1000 + 90 * day * 1000))
  })

  it("that don't sign, or are rotated manually, are not replaced", () => {
    const byHand = create(OIDCSettingsSchema, { keyRotation: { ...keyRotation, enabled: false } })
    expect(nextRotation(made(State.INITIAL), settings)).toBeUndefined()
    expect(nextRotation(made(State.INACTIVE), settings)).toBeUndefined()
    expect(nextRotation(made(State.ACTIVE), byHand)).toBeUndefined()
    expect(nextRotation(made(State.ACTIVE), undefined)).toBeUndefined()
  })

  it("have a translated state", () => {
    const states = [State.ACTIVE, State.INITIAL, State.INACTIVE].map((state) =>
      stateOf(made(state)),
    )
    expect(states).toEqual(["active", "next", "retired"])
  })
})

it("a menu item requires the permission of its list", () => {
  const lists = {
    projects: ProjectService.method.listProjects,
    applications: ApplicationService.method.listApplications,
    users: UserService.method.listUsers,
    groups: GroupService.method.listGroups,
    organization: OrganizationService.method.listOrganizations,
    "refused-requests": DiagnosisService.method.listRefusedRequests,
    outbox: MessageService.method.listMessages,
    scripts: ManagementService.method.listActions,
  }
  const asked = Object.entries(lists).map(
    ([place, method]) => [place, getOption(method, access).permission] as const,
  )
  expect(Object.fromEntries(asked)).toEqual(requiredPermissions)
})

describe("an error response", () => {
  const detail = (id: string, message: string) => ({
    desc: ErrorDetailSchema,
    value: { id, message },
  })

  it("is shown by the ID and message of its detail", () => {
    const said = detail("access.denied", "this needs the permission x")
    const denied = new ConnectError("anything", Code.PermissionDenied, undefined, [said])
    expect(refusalOf(denied)).toEqual({
      id: "access.denied",
      message: "this needs the permission x",
      code: Code.PermissionDenied,
    })
    expect(isDenied(refusalOf(denied))).toBe(true)
  })

  it("names the field of a form, and its requirement", () => {
    const field = "settings.display_name"
    const violation = { field, description: "must have 1 to 200 characters" }
    const error = new ConnectError("anything", Code.InvalidArgument, undefined, [
      detail("request.field_invalid", "settings.display_name must have 1 to 200 characters"),
      { desc: BadRequestSchema, value: { fieldViolations: [violation] } },
    ])
    const expected = "must have 1 to 200 characters"
    expect(refusalOf(error)).toMatchObject({ field: "displayName", expected })
  })

  it("has no ID if the server sent none", () => {
    expect(refusalOf(new Error("broken"))).toMatchObject({ id: "", message: "broken" })
  })

  it("distinguishes an unavailable server from a rejection", () => {
    const cause = new TypeError("Failed to fetch")
    const away = new ConnectError("", Code.Unavailable, undefined, undefined, cause)
    expect(refusalOf(away).id).toBe(unreachableId)
    expect(refusalOf(new ConnectError("full", Code.Unavailable)).id).toBe("")
  })
})

it("a link styled as a button keeps its style with any class from the router", () => {
  const added = { className: "active" }
  const html = renderToStaticMarkup(createElement(ButtonLink, { href: "/here", ...added }))
  expect(html).toBe('<a href="/here" class="button"></a>')
})

it("a file name is valid for any resource name", () => {
  expect(fileNameOf("Größe / ../x y-secret.txt")).toBe("Größe-..-x-y-secret.txt")
})

describe("the console's document", () => {
  const files = { css: "/k.css", consoleCss: "/c.css", pageJs: "/p.js", consoleJs: "/m.js" }
  const html = consoleDocument({ ...files, consoleShell: "/s.js", icon: "/i.svg" })

  it("contains nothing inline that its CSP would block", () => {
    expect(html).not.toMatch(/<style|<[^>]+\sstyle=|<[^>]+\son[a-z]+=/)
    const scripts = [...html.matchAll(/<script[^>]*>([^<]*)/g)].map((match) => match[1])
    expect(scripts).toEqual(["", ""])
  })

  it("has a language, a title, and a text for browsers without script", () => {
    expect(html).toContain(`<html lang="en">`)
    expect(html).toContain("<title>Latchkey</title>")
    expect(html).toMatch(/<noscript><p>[^<]+<\/p><\/noscript>/)
  })
})

describe("roles of administrators", () => {
  it("have the level that the API defines", () => {
    for (const [name, level] of Object.entries(levels)) expect(levelOf(level)).toBe(name)
  })

  it("show their permissions once, by category", () => {
    expect(
      groupPermissions(["user.write", "org.read", "user.read", "user.write", "impersonation"]),
    ).toEqual([
      { name: "impersonation", permissions: ["impersonation"] },
      { name: "org", permissions: ["org.read"] },
      { name: "user", permissions: ["user.read", "user.write"] },
    ])
  })
})

describe("the restriction of login languages", () => {
  const open = { allowedLanguages: [], disallowPublicOrgRegistration: false }
  const german = { ...open, allowedLanguages: ["de"] }

  it("sends only changes", () => {
    expect(restrictionChange(open, { languages: ["de"], isRegistrationAllowed: true })).toEqual({
      allowedLanguages: { list: ["de"] },
    })
    expect(
      restrictionChange(open, { languages: pageLanguages, isRegistrationAllowed: false }),
    ).toEqual({
      disallowPublicOrgRegistration: true,
    })
    expect(
      restrictionChange(german, { languages: ["de"], isRegistrationAllowed: true }),
    ).toBeUndefined()
    expect(
      restrictionChange(open, { languages: pageLanguages, isRegistrationAllowed: true }),
    ).toBeUndefined()
  })

  it("is removed if all languages are selected", () => {
    expect(
      restrictionChange(german, { languages: pageLanguages, isRegistrationAllowed: true }),
    ).toEqual({
      allowedLanguages: { list: [] },
    })
  })
})
