import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addDomain } from "../../../src/domain/org/domain.ts"
import { org } from "../../../src/domain/org/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const email = "ceo@corp.test"
const verifiedEmail = { verification: { case: "isVerified", value: true } }

const human = (input: object) => ({
  userType: {
    case: "human",
    value: { profile: { givenName: "C", familyName: "Eo" }, ...input },
  },
})

const create = (username: string, address: object): Promise<{ id: string }> =>
  estate.as("stranger", "createUser", {
    username,
    organizationId: "org2",
    ...human({ email: address }),
  })

const verifyEmail = (userId: string) =>
  estate.step((tx) =>
    tx.append(user, userId, [
      { type: "user.human.email.verified", data: { verifier: { by: "user" } } },
    ]),
  )

const verifyDomain = async (orgId: string, domain: string) => {
  await addDomain(estate.cx(), orgId, { domain, isUsed: () => false })
  await estate.step((tx) =>
    tx.append(org, orgId, [
      {
        type: "org.domain.verification.added",
        data: { domain, validationType: "dns" },
        private: { validationCode: "token" },
      },
      { type: "org.domain.verified", data: { domain } },
    ]),
  )
}

describe("an administrator's URL template in a message to an unverified address", () => {
  const page = "https://shop.test/?c={{.Code}}"
  const sendCode = (urlTemplate: string) => ({ case: "sendCode", value: { urlTemplate } })
  const sendLink = (urlTemplate: string) => ({ case: "sendLink", value: { urlTemplate } })
  const refusal = { code: "failed_precondition", id: "user.url_template_unverified" }
  const ways: Readonly<Record<string, (userId: string, url: string) => Promise<unknown>>> = {
    createUser: (_, url) => create(`new-${url.length}`, { email, verification: sendCode(url) }),
    setEmail: (userId, url) =>
      estate.as("stranger", "setEmail", { userId, email, verification: sendCode(url) }),
    sendEmailCode: (userId, url) =>
      estate.as("stranger", "sendEmailCode", { userId, verification: sendCode(url) }),
    createInviteCode: (userId, url) =>
      estate.as("stranger", "createInviteCode", { userId, verification: sendCode(url) }),
    passwordReset: (userId, url) =>
      estate.as("stranger", "passwordReset", { userId, medium: sendLink(url) }),
    createPasskeyRegistrationLink: (userId, url) =>
      estate.as("stranger", "createPasskeyRegistrationLink", { userId, medium: sendLink(url) }),
  }
  const guest = async () => (await create("guest", { email })).id

  test.each(Object.keys(ways))(
    "is rejected unless it leads to a known domain: %s",
    async (name) => {
      const id = await guest()
      const ask = async (url: string) => ways[name]?.(id, url)
      for (const url of [page, page.replace("shop.test", "id.example.com.shop.test")]) {
        await expect(ask(url)).rejects.toMatchObject(refusal)
      }
      await verifyDomain("org1", "shop.test")
      await expect(ask(page)).rejects.toMatchObject(refusal)
      await verifyDomain("org2", "globex.test")
      await ask("https://login.globex.test/?c={{.Code}}")
    },
  )

  test("is accepted if it leads to the instance or its trusted domains", async () => {
    const id = await guest()
    await ways.createInviteCode?.(id, "https://id.example.com/ui/?c={{.Code}}")
    const trusted = { instanceId: "", trustedDomain: "shop.test" }
    await estate.as("owner", "addTrustedDomain", trusted)
    await ways.createInviteCode?.(id, page)
  })

  const escaping = [
    "/oidc/v1/end_session?post_logout_redirect_uri=https://shop.test/&state={{.Code}}",
    "/ui/../oauth/v2/authorize?prompt=none&state={{.Code}}",
    "/ui/{{.Nothing}}../oidc/v1/end_session?state={{.Code}}",
    "/ui/{{.DisplayName}}/oidc/v1/end_session?state={{.Code}}",
    "/ui/../{{.UserID}}/v1/end_session?state={{.Code}}",
    "/ui/%2E%2E/{{.UserID}}/v1/end_session?state={{.Code}}",
    "/{{.UserID}}/v1/end_session?state={{.Code}}",
    "/{{.DisplayName}}/v1/end_session?state={{.Code}}",
    "/saml/v2/SLO?RelayState={{.Code}}",
    "\\@shop.test/?c={{.Code}}",
  ]
  const addresses = escaping.map((path) => `https://id.example.com${path}`)
  const inHost = ["https://{{.Code}}.example.com/ui/", "https://{{.UserID}}.example.com/ui/"]
  test.each([...addresses, ...inHost])("is rejected if it can lead elsewhere: %s", async (url) => {
    const asked = ways.createInviteCode?.(await guest(), url)
    const id = /^user\.url_template_(?:unverified|invalid)$/
    await expect(asked).rejects.toMatchObject({ id: expect.stringMatching(id) })
  })

  test("is accepted with an ID and the code in the path", async () => {
    const page = "https://id.example.com/ui/verify/{{.UserID}}/{{.Code}}?o={{.OrgID}}"
    await ways.createInviteCode?.(await guest(), page)
  })

  test("is accepted from an administrator with the permission on the instance", async () => {
    const userId = await guest()
    await estate.as("owner", "createInviteCode", { userId, verification: sendCode(page) })
  })

  test("is accepted once the user has verified the address, or in a verified domain of the organization", async () => {
    const userId = await guest()
    await verifyEmail(userId)
    await ways.passwordReset?.(userId, page)
    await verifyDomain("org2", "globex.test")
    const ann = await create("ann", { email: "ann@globex.test", ...verifiedEmail })
    await ways.passwordReset?.(ann.id, page)
  })
})
