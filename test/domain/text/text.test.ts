import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { admin, language, management, type TextRow, textRows } from "../../support/texts.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

describe.each(textRows.map((row) => [row.name, row] as const))("the text of %s", (_, row) => {
  const { get, set, reset, instance, own, names } = row
  const ask = (call: string, of: string, more = {}) =>
    estate.as("owner", call, { language, ...names, ...more }, { of })
  const shown = async (call: string, of: string) => {
    const { customText } = await ask(call, of)
    return { says: textIn(row, customText), isDefault: customText.isDefault }
  }
  const all = async () => ({
    standard: (await shown(get.standard, admin)).says,
    instance: await shown(get.custom, admin),
    above: (await shown(get.standard, management)).says,
    org: await shown(get.custom, management),
  })
  const [byInstance, byOrg] = [textIn(row, instance), textIn(row, own)]

  test("is inherited until it is set, and again after a reset", async () => {
    const { standard } = await all()
    expect(standard.length).toBeGreaterThan(3)
    const unsaid = { says: standard, isDefault: true }
    expect(await all()).toEqual({ standard, instance: unsaid, above: standard, org: unsaid })
    await ask(set.instance, admin, instance)
    const first = { says: byInstance, isDefault: false }
    const inherited = { ...first, isDefault: true }
    expect(await all()).toEqual({ standard, instance: first, above: byInstance, org: inherited })
    await ask(set.org, management, own)
    const second = { says: byOrg, isDefault: false }
    expect(await all()).toEqual({ standard, instance: first, above: byInstance, org: second })
    await ask(reset, admin)
    expect(await all()).toEqual({ standard, instance: unsaid, above: standard, org: second })
    await ask(reset, management)
    expect(await all()).toEqual({ standard, instance: unsaid, above: standard, org: unsaid })
  })

  test("is set for one organization in one language", async () => {
    await ask(set.org, management, own)
    const other = await estate.as(
      "stranger",
      get.custom,
      { language, ...names },
      { of: management },
    )
    expect(other.customText.isDefault).toBe(true)
    const english = await estate.as(
      "owner",
      get.custom,
      { language: "en", ...names },
      { of: management },
    )
    expect(english.customText.isDefault).toBe(true)
    const theirs = { orgId: "org2" }
    for (const [call, request] of [
      [set.org, own],
      [reset, {}],
      [get.custom, {}],
    ] as const) {
      const tried = async () =>
        estate.as(
          "manager",
          call,
          { language, ...names, ...request },
          { of: management, cx: theirs },
        )
      await expect(tried(), call).rejects.toMatchObject({ code: "not_found" })
    }
    const above = async () =>
      estate.as("manager", set.instance, { language, ...names, ...own }, { of: admin })
    await expect(above()).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("changes where another resource is said, and is reset where it was said", async () => {
    const unchanged = { code: "failed_precondition", id: "text.unchanged" }
    const missing = { code: "not_found", id: "text.missing" }
    await expect(ask(reset, management)).rejects.toMatchObject(missing)
    await expect(ask(set.org, management)).rejects.toMatchObject(unchanged)
    await ask(set.org, management, own)
    await expect(ask(set.org, management, own)).rejects.toMatchObject(unchanged)
    // An empty value resets the text.
    await ask(set.org, management)
    await expect(ask(reset, management)).rejects.toMatchObject(missing)
  })

  test("must be plain text in a supported language with known values", async () => {
    const invalid = (id: string, part: string) => ({
      code: "invalid_argument",
      id,
      message: expect.stringContaining(part),
    })
    const tried = async (text: string, more = {}) => {
      const block = row.template === "login" ? { loginText: { title: text } } : { text }
      return ask(set.org, management, { ...block, ...more })
    }
    const unknown = invalid("text.language_unknown", "en")
    await expect(tried("Hello", { language: "tlh" })).rejects.toMatchObject(unknown)
    await expect(tried("Hello", { language: "../de" })).rejects.toMatchObject(unknown)
    const stray = (part: string) => invalid("text.placeholder_unknown", part)
    await expect(tried("Hello {{.Password}}")).rejects.toMatchObject(stray("{{.Password}}"))
    await expect(tried("{{ .FirstName | html }}")).rejects.toMatchObject(stray("{{ .FirstName"))
    await expect(tried("{{range .}}")).rejects.toMatchObject(stray("{{range"))
    const refused = (part: string) => invalid("text.value_invalid", part)
    await expect(tried("a\u0000b")).rejects.toMatchObject(refused("plain text"))
    await expect(tried("ä".repeat(40_001))).rejects.toMatchObject({ code: "invalid_argument" })
    expect((await shown(get.custom, management)).isDefault).toBe(true)
  })
})

/** The text that a row refers to. */
const textIn = ({ template }: TextRow, displayed: Readonly<Record<string, any>>): string =>
  template === "login" ? displayed.loginText.title : displayed.text

test("an unknown kind is rejected with the known ones", async () => {
  for (const of of [admin, management]) {
    const tried = estate.as("owner", "getCustomMessageText", { language, kind: "fax" }, { of })
    const message = expect.stringContaining("owner_recovered")
    await expect(tried).rejects.toMatchObject({ id: "text.kind_unknown", message })
  }
})

test("custom texts replace only what they name", async () => {
  const { customText: before } = await estate.as(
    ...(["owner", "getCustomInitMessageText", { language }, { of: management }] as const),
  )
  const request = { language, subject: "Only this" }
  await estate.as("owner", "setCustomInitMessageText", request, { of: management })
  const { customText: after } = await estate.as(
    ...(["owner", "getCustomInitMessageText", { language }, { of: management }] as const),
  )
  expect(after).toEqual({
    ...before,
    subject: "Only this",
    isDefault: false,
    details: after.details,
  })
  expect(after.details).toMatchObject({ sequence: 1n, resourceOwner: "org1" })
})

test("the response lists the login texts that no page shows; they are stored", async () => {
  const usernameChangeText = { title: "Rename", description: "" }
  const request = { language, usernameChangeText, loginText: { title: "Hello" } }
  for (const of of [admin, management]) {
    const answer = await estate.as("owner", "setCustomLoginText", request, { of })
    expect(answer.notShown).toEqual(["usernameChangeText.title"])
    const { customText } = await estate.as("owner", "getCustomLoginTexts", { language }, { of })
    expect(customText.usernameChangeText.title).toBe("Rename")
  }
})

test.each([
  ["subject", "Hello\r\nBcc: eve@example.com", "one line"],
  ["buttonText", "Go\u2028on", "one line"],
  ["title", "x".repeat(2001), "2000 bytes"],
  ["greeting", "ü".repeat(2001), "4000 bytes"],
])("rejects a message's %s with the value %j", async (field, text, part) => {
  const request = { language, [field]: text }
  const tried = estate.as("owner", "setCustomInitMessageText", request, { of: management })
  const message = expect.stringContaining(part)
  await expect(tried).rejects.toMatchObject({ id: "text.value_invalid", message })
})

describe("the translation of the login pages", () => {
  const org = { case: "organizationId", value: "org1" } as const
  const instance = { case: "instance", value: true } as const
  const system = { case: "system", value: true } as const
  const get = (level: object, more = {}) =>
    estate.as("owner", "getHostedLoginTranslation", { level, locale: "en", ...more })
  const set = (level: object, translations: object) =>
    estate.as("owner", "setHostedLoginTranslation", { level, locale: "en", translations })

  test("falls back from organization to instance to default, and takes precedence over v1", async () => {
    const own = { ignoreInheritance: true }
    const standard = await get(system)
    expect(standard.translations.password.title).toBe("Enter your password")
    expect(await get(org)).toEqual(standard)
    const first = await set(instance, { password: { title: "Password?", submit: "In" } })
    expect(first.etag).toMatch(/^[0-9a-f]{32}$/)
    await set(org, { password: { title: "Your Acme password" } })
    const { translations } = await get(org)
    expect(translations.password).toEqual({
      ...standard.translations.password,
      title: "Your Acme password",
      submit: "In",
    })
    expect((await get(org, own)).translations).toEqual({
      password: { title: "Your Acme password" },
    })
    expect((await get(instance, own)).etag).toBe(first.etag)
    const older = { language: "en", passwordText: { title: "Older", nextButtonText: "Older" } }
    await estate.as("owner", "setCustomLoginText", older, { of: management })
    const both = (await get(org)).translations.password
    expect(both).toMatchObject({ title: "Your Acme password", submit: "Older" })
    expect((await set(org, {})).etag).not.toBe(first.etag)
    expect(await set(org, {})).toBeDefined()
    expect((await get(org)).translations.password.title).toBe("Older")
  })

  test.each([
    [{ password: { nowhere: "x" } }, "password.nowhere"],
    [{ password: "x" }, "password"],
    [{ password: { title: ["x"] } }, "password.title"],
    [{ password: { title: 7 } }, "password.title"],
    [{ __proto__: null, constructor: { prototype: "x" } }, "constructor.prototype"],
    [{ password: { title: "Hello {$password}" } }, "{$password}"],
    [{ login_name: { lead_application: "To {$application :number}" } }, "can't be filled"],
    [{ password: { title: "{" } }, "is not a valid message"],
    [{ password: { title: "x".repeat(1001) } }, "1000 characters"],
  ])("rejects %j and names it", async (translations, part) => {
    const message = expect.stringContaining(part)
    await expect(set(org, translations)).rejects.toMatchObject({
      code: "invalid_argument",
      id: "text.value_invalid",
      message,
    })
  })

  test("has plural forms for numbers", async () => {
    const length =
      ".input {$count :number}\n.match $count\none {{one character}}\n* {{{$count} characters}}"
    await set(org, { password_rule: { length } })
    expect((await get(org)).translations.password_rule.length).toBe(length)
  })

  test("can be set by the instance only", async () => {
    for (const [name, more] of [
      ["getHostedLoginTranslation", {}],
      ["setHostedLoginTranslation", { translations: {} }],
    ] as const) {
      const tried = async () => estate.as("manager", name, { level: org, locale: "en", ...more })
      await expect(tried(), name).rejects.toMatchObject({ code: "permission_denied" })
    }
  })
})

test("the texts of an organization go with it", async () => {
  const ask = (call: string, request: object) =>
    estate.as("owner", call, request, { of: management, cx: { orgId: "org2" } })
  await ask("setCustomInitMessageText", { language, text: "Only ours" })
  await ask("setCustomLoginText", { language, loginText: { title: "Only ours" } })
  const kept = () =>
    estate.store.database
      .query("SELECT count(*) AS count FROM event WHERE CAST(private AS TEXT) LIKE '%Only ours%'")
      .get()
  expect(kept()).toEqual({ count: 2 })
  await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
  expect(kept()).toEqual({ count: 0 })
})
