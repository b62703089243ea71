import { createPrivateKey } from "node:crypto"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addKey, addMachine, openService, type Service } from "./service.ts"

const insecure = { [oauth.allowInsecureRequests]: true }
const scope = "openid urn:core:iam:org:project:id:core:aud"

let service: Service
let serviceAccount: { readonly userId: string; readonly name: string; readonly secret: string }
let serviceAccountKey: Pem
let api: { readonly clientId: string; readonly secret: string; readonly key: Pem }

type Pem = { readonly keyId: string; readonly key: string }

beforeAll(async () => {
  service = await openService()
  const { organization } = await findOrganization()
  const name = "robot of: 100% & more"
  const userId = await addMachine(service, organization, name)
  const { clientSecret: secret } = await service.get("AddSecret", { userId })
  serviceAccount = { userId, name, secret }
  serviceAccountKey = await addKey(service, userId)
  api = await addApi()
})
afterAll(() => service?.close())

async function findOrganization() {
  const { result } = await service.get("ListOrganizations")
  return { organization: result[0].id }
}

/** An API of our own project, which can introspect tokens for that audience. */
async function addApi() {
  const { iamProjectId: projectId } = await service.get(
    "core.management.v1.ManagementService/GetIAM",
  )
  const made = await service.get("CreateApplication", {
    projectId,
    applicationId: "api",
    name: "API",
    apiConfiguration: {},
  })
  await service.get("CreateApplication", {
    projectId,
    applicationId: "keyed",
    name: "API with a key",
    apiConfiguration: { authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" },
  })
  const { keyDetails } = await service.get("CreateApplicationKey", {
    projectId,
    applicationId: "keyed",
  })
  const { clientId, clientSecret: secret } = made.apiConfiguration
  return { clientId, secret, key: JSON.parse(Buffer.from(keyDetails, "base64").toString()) }
}

/** The private key of a key file as a WebCrypto key. */
async function importSigningKey({ keyId, key }: Pem) {
  const pkcs8 = createPrivateKey(key).export({ type: "pkcs8", format: "der" })
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }
  const imported = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"])
  return { key: imported, kid: keyId }
}

describe("openid-client gets a token by client_credentials", () => {
  const config = (clientId: string, auth: openid.ClientAuth) =>
    openid.discovery(new URL(service.url), clientId, undefined, auth, {
      execute: [openid.allowInsecureRequests],
    })
  const ways: Readonly<Record<string, () => Promise<openid.Configuration>>> = {
    client_secret_basic: () =>
      config(serviceAccount.name, openid.ClientSecretBasic(serviceAccount.secret)),
    client_secret_post: () =>
      config(serviceAccount.name, openid.ClientSecretPost(serviceAccount.secret)),
    "client_secret_basic, with the id": () =>
      config(serviceAccount.userId, openid.ClientSecretBasic(serviceAccount.secret)),
    private_key_jwt: async () =>
      config(serviceAccount.name, openid.PrivateKeyJwt(await importSigningKey(serviceAccountKey))),
    "private_key_jwt, with the id": async () =>
      config(
        serviceAccount.userId,
        openid.PrivateKeyJwt(await importSigningKey(serviceAccountKey)),
      ),
  }
  test.each(Object.entries(ways))("by %s", async (_, configure) => {
    const found = await configure()
    const tokens = await openid.clientCredentialsGrant(found, { scope })
    expect(tokens).toMatchObject({ token_type: "bearer", scope })
    expect([tokens.id_token, tokens.refresh_token]).toEqual([undefined, undefined])
    const info = await openid.fetchUserInfo(found, tokens.access_token, serviceAccount.userId)
    expect(info.sub).toBe(serviceAccount.userId)
    expect((await service.call("ListUsers", {}, tokens.access_token)).status).toBe(200)
  })

  test("and gets an error for a wrong secret", async () => {
    const found = await config(serviceAccount.name, openid.ClientSecretBasic("wrong"))
    const tried = openid.clientCredentialsGrant(found, { scope })
    await expect(tried).rejects.toBeInstanceOf(openid.WWWAuthenticateChallengeError)
    await expect(tried).rejects.toMatchObject({ status: 401, cause: [{ scheme: "basic" }] })
  })
})

describe("oauth4webapi", () => {
  const server = async () => {
    const issuer = new URL(service.url)
    return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
  }
  const asked = async (auth: oauth.ClientAuth) => {
    const [as, client] = [await server(), { client_id: serviceAccount.name }]
    const parameters = new URLSearchParams({ scope })
    const sent = await oauth.clientCredentialsGrantRequest(as, client, auth, parameters, insecure)
    return oauth.processClientCredentialsResponse(as, client, sent)
  }
  const ways: Readonly<Record<string, () => Promise<oauth.ClientAuth>>> = {
    client_secret_basic: async () => oauth.ClientSecretBasic(serviceAccount.secret),
    client_secret_post: async () => oauth.ClientSecretPost(serviceAccount.secret),
    private_key_jwt: async () => oauth.PrivateKeyJwt(await importSigningKey(serviceAccountKey)),
  }
  test.each(Object.entries(ways))("gets a token by client_credentials by %s", async (_, auth) => {
    expect(await asked(await auth())).toMatchObject({ token_type: "bearer", scope })
  })

  const apis: Readonly<Record<string, () => Promise<readonly [string, oauth.ClientAuth]>>> = {
    client_secret_basic: async () => [api.clientId, oauth.ClientSecretBasic(api.secret)],
    private_key_jwt: async () => {
      const { clientId } = JSON.parse(JSON.stringify(api.key))
      return [clientId, oauth.PrivateKeyJwt(await importSigningKey(api.key))]
    },
  }
  test.each(Object.entries(apis))("introspects a token as an API, by %s", async (_, user) => {
    const { access_token } = await asked(oauth.ClientSecretBasic(serviceAccount.secret))
    const [as, [client_id, auth]] = [await server(), await user()]
    const sent = await oauth.introspectionRequest(as, { client_id }, auth, access_token, insecure)
    const said = await oauth.processIntrospectionResponse(as, { client_id }, sent)
    expect(said).toMatchObject({
      active: true,
      sub: serviceAccount.userId,
      client_id: serviceAccount.name,
    })
  })

  test("revokes its token", async () => {
    const auth = oauth.ClientSecretBasic(serviceAccount.secret)
    for (const client_id of [serviceAccount.name, serviceAccount.userId]) {
      const { access_token } = await asked(auth)
      const [as, client] = [await server(), { client_id }]
      const sent = await oauth.revocationRequest(as, client, auth, access_token, insecure)
      await oauth.processRevocationResponse(sent)
      expect((await service.call("ListUsers", {}, access_token)).status).toBe(401)
    }
  })
})

test("a personal access token works at userinfo and at the API", async () => {
  const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
  const { userId } = serviceAccount
  const made = await service.get("AddPersonalAccessToken", { userId, expirationDate })
  const auth = openid.None()
  const options = { execute: [openid.allowInsecureRequests] }
  const found = await openid.discovery(new URL(service.url), "x", undefined, auth, options)
  expect((await openid.fetchUserInfo(found, made.token, userId)).sub).toBe(userId)
  expect((await service.call("ListUsers", {}, made.token)).status).toBe(200)
  const { tokenId } = made
  const { deletionDate } = await service.get("RemovePersonalAccessToken", { userId, tokenId })
  expect(deletionDate).toBeDefined()
  expect((await service.call("ListUsers", {}, made.token)).status).toBe(401)
})
