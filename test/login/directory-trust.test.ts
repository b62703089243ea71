// A directory with trusted addresses, on Debian's LDAP server.
import { Attribute, Change, Client } from "ldapts"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createIdp, linkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { parseAllowedOutbound } from "../../src/kernel/setting/allow-list.ts"
import { createDirectories } from "../../src/notify/ldap.ts"
import {
  authorizePath,
  browserOf,
  openProvider,
  type Provider,
  responseOf,
} from "../oauth/provider.ts"
import { directorySettings } from "../support/directory.ts"
import { certificate } from "../support/mail-certificate.ts"
import { unreachableOutside } from "../support/outside.ts"
import { needs } from "../support/prerequisite.ts"
import { admin, base, directoryHost, type Slapd, startSlapd } from "../support/slapd.ts"

const person = { uid: "ada", cn: "Ada Lovelace", sn: "Lovelace", givenName: "Ada" }
const password = "Ada-secret-1"
const allow = [parseAllowedOutbound("127.0.0.1") ?? { host: "" }]
const resolve = async () => ["127.0.0.1"]
const outside = {
  ...unreachableOutside,
  directories: createDirectories({ resolve, clock: systemClock, allow }),
}
const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "off",
}

describe.runIf(needs("slapd"))("the addresses of a directory", () => {
  let slapd: Slapd
  let provider: Provider
  let idpId: string
  let wish: Parameters<typeof createIdp>[2]
  beforeAll(async () => {
    slapd = await startSlapd([{ ...person, mail: "ada@example.com", userPassword: password }])
  })
  afterAll(() => slapd?.stop())
  beforeEach(async () => {
    provider = await openProvider()
    if (directorySettings.kind !== "ldap") throw new Error("no settings of a directory")
    const settings: Settings = {
      ...directorySettings,
      servers: [`ldaps://${directoryHost}:${slapd.tlsPort}`],
      rootCa: certificate,
      baseDn: base,
      bindDn: admin.dn,
    }
    wish = { name: "Acme", settings, options, secret: admin.password }
    idpId = (await createIdp(provider.cx(), undefined, wish)).id
    await linkIdp(provider.cx(), undefined, idpId)
    await setMail("ada@example.com")
  })
  afterEach(() => provider.close())

  async function setMail(mail: string): Promise<void> {
    const ldap = new Client({ url: `ldap://127.0.0.1:${slapd.port}` })
    await ldap.bind(admin.dn, admin.password)
    const modification = new Attribute({ type: "mail", values: [mail] })
    await ldap.modify(`uid=ada,${base}`, new Change({ operation: "replace", modification }))
    await ldap.unbind()
  }

  async function signIn(): Promise<void> {
    const client = await provider.addClient()
    const browser = browserOf({ send: (path, init) => provider.send(path, init, { outside }) })
    const first = await browser.go(authorizePath(client.id))
    const [, href = ""] = /href="([^"]*login\/ldap[^"]*)"/.exec(first.page) ?? []
    const form = await browser.go(href.replaceAll("&amp;", "&"))
    expect(responseOf(await browser.post(form, { loginName: "ada", password }))).toHaveProperty(
      "code",
    )
  }

  const stateNow = () => {
    const cx = provider.cx()
    return cx.store.state(cx, user, findByLoginName(cx, "ada") ?? "")
  }

  test("are verified, and updated when they change, if trusted", async () => {
    const trusting = { ...options, trustDirectoryAddresses: true }
    await updateIdp(provider.cx(), undefined, idpId, { ...wish, options: trusting })
    const verifier = { by: "organization" }
    await signIn()
    expect(stateNow()).toMatchObject({
      email: { address: "ada@example.com", verified: true, verifier },
    })
    await setMail("countess@example.com")
    await signIn()
    expect(stateNow()).toMatchObject({
      email: { address: "countess@example.com", verified: true, verifier },
    })
  })

  test("are neither if not trusted", async () => {
    await signIn()
    await setMail("countess@example.com")
    await signIn()
    expect(stateNow()).toMatchObject({ email: { address: "ada@example.com", verified: false } })
  })
})
