// Sets up a data directory for the OAuth workloads: `bun prepare.ts FOLDER PORT [ALGORITHM]`, where
// ALGORITHM signs ID tokens. Writes FOLDER/data, and FOLDER/credentials.json with the clients and
// the user.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { connect } from "../../../test/acceptance/service.ts"
import { apiScope, serviceToken, setUp, startLatchkey } from "../../../test/support/latchkey.ts"

const [folder = ".", port = "9100", idTokenSigningAlgorithm = "ES256"] = process.argv.slice(2)
const data = join(folder, "data")
const url = `http://127.0.0.1:${port}`
const redirectUri = "https://rp.example.test/cb"
const user = { username: "alice", password: "Correct horse battery 7 staple" }

const key = await setUp(data, url)
const server = await startLatchkey({ data, port: Number(port) })
try {
  writeFileSync(join(folder, "credentials.json"), JSON.stringify(await populate()))
} finally {
  await server.stop()
}

async function populate() {
  const token = await serviceToken(url, key, apiScope)
  const get = async (name: string, request: object) => {
    const { status, body } = await connect(url, name, { request, token })
    if (status === 200) return body
    throw new Error(`${name} returned ${status}: ${JSON.stringify(body)}`)
  }
  const organizationId = (await get("ListOrganizations", {})).result[0].id
  const { projectId } = await get("CreateProject", { organizationId, name: "Bench" })
  const serviceUser = async (name: string, accessTokenType: string) => {
    const machine = { name, accessTokenType }
    const { id } = await get("CreateUser", { organizationId, username: name, machine })
    const { clientSecret } = await get("AddSecret", { userId: id })
    return { id: name, secret: clientSecret }
  }
  const api = await get("CreateApplication", {
    projectId,
    name: "API",
    api: { authMethodType: "API_AUTH_METHOD_TYPE_BASIC" },
  })
  const web = await get("CreateApplication", {
    projectId,
    name: "Web",
    oidc: {
      tokenSettings: { idTokenSigningAlgorithm },
      redirectUris: [redirectUri],
      responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
      grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
    },
  })
  await get("CreateUser", {
    organizationId,
    username: user.username,
    human: {
      profile: { givenName: "Alice", familyName: "Bench" },
      email: { email: "alice@example.test", isVerified: true },
      password: { password: user.password },
    },
  })
  return {
    scope: `openid urn:core:iam:org:project:id:${projectId}:aud`,
    m2m: await serviceUser("bench-opaque", "ACCESS_TOKEN_TYPE_BEARER"),
    m2m_jwt: await serviceUser("bench-jwt", "ACCESS_TOKEN_TYPE_JWT"),
    introspector: clientOf(api),
    web: clientOf(web),
    user,
  }
}

/** The response contains the client in a field named after the type of the application. */
function clientOf(created: Record<string, { clientId?: string; clientSecret?: string }>) {
  const { clientId, clientSecret } =
    Object.values(created).find((part) => part?.clientId !== undefined) ?? {}
  return { id: clientId, secret: clientSecret }
}
