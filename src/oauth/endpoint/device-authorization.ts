import { addDevice, type DeviceInput } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { type AuthenticatedApp, authenticateClient } from "../client/authentication.ts"
import { verifyProof } from "../client/proof.ts"
import { findCustomLoginPage } from "../custom-login/login-page.ts"
import { sealDeviceCode } from "../device/code.ts"
import { pollSeconds } from "../device/polling.ts"
import { formatUserCode, generateUserCode } from "../device/user-code.ts"
import { requireRegisteredGrant } from "../grant/registered-grant.ts"
import { issuerOf, paths } from "../issuer.ts"
import { type Parameters, parseParameters, splitWords } from "../parameters.ts"
import { loadMetadataDocument } from "../registration/metadata-document.ts"
import { json } from "../response.ts"
import { foreignProjectsAmong } from "../token/audience.ts"
import {
  audienceOf,
  droppedScopes,
  grantedScopes,
  isPlain,
  projectsAsAudience,
  scopesWithoutManagementApi,
  withApiScopes,
  withoutManagementApi,
} from "../token/scope.ts"
import type { Endpoint } from "./endpoint.ts"

/** How long a user can enter the code, in seconds. */
const lifetimeSeconds = 300

/** RFC 8628 §3.1: a device without a keyboard receives a code that the user enters elsewhere. */
export const deviceAuthorization: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  handle: async ({ cx, request, url, form }) => {
    const parameters = parseParameters(await form())
    const { headers, method } = request
    const authorization = headers.get("authorization")
    await loadMetadataDocument(cx, parameters.get("client_id") ?? "")
    const authenticated = await authenticateClient(cx, { parameters, authorization })
    const client = requireRegisteredGrant(authenticated, "device_code")
    const proof = await verifyProof(cx, { headers, method, path: url.pathname })
    const input = parseInput(cx, client, parameters)
    cx.allowance?.spend("request")
    const id = cx.ids.next()
    const userCode = await addWithCode(cx, id, { ...input, ...(proof && { jkt: proof.jkt }) })
    const login = findCustomLoginPage(cx, { clientId: client.clientId })
    const page = login === undefined ? issuerOf(cx).issuer + paths.device : `${login}/device`
    return json({
      device_code: sealDeviceCode(cx, id),
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${userCode}`,
      expires_in: lifetimeSeconds,
      interval: pollSeconds,
    })
  },
}

type DeviceAuthorizationInput = Omit<DeviceInput, "userCode">

function parseInput(
  cx: Cx,
  { appId, clientId, state }: AuthenticatedApp,
  requestParameters: Parameters,
): DeviceAuthorizationInput {
  const requested = splitWords(requestParameters.get("scope"))
  const { granted, projects } = grantedAccessOf(cx, requested, state)
  const audience = [...new Set([clientId, ...projects])]
  const scopes = withApiScopes(cx, requested, { granted, audience })
  const foreign = foreignProjectsAmong(cx, { appId, projectId: state.projectId }, projects)
  const more = { ...droppedScopes(requested, scopes), ...foreign }
  return { clientId, appId, scopes, audience, ...more, lifetimeSeconds }
}

/** The granted scopes, except those of APIs, which depend on the audience. */
function grantedAccessOf(cx: Cx, requested: readonly string[], state: AuthenticatedApp["state"]) {
  const granted = grantedScopes(requested, state)
  const projects = [...projectsAsAudience(cx, [state.projectId]), ...audienceOf(cx, granted)]
  if (!isPlain(granted, state)) return { granted, projects }
  return {
    granted: scopesWithoutManagementApi(cx, granted),
    projects: withoutManagementApi(cx, projects),
  }
}

const triesMax = 5

/**
 * Stores the authorization and returns the user code as shown. A code that another device already
 * has is generated again.
 */
async function addWithCode(cx: Cx, id: string, input: DeviceAuthorizationInput): Promise<string> {
  for (let tries = 1; ; tries++) {
    const userCode = generateUserCode(cx.random)
    try {
      await cx.store.transact(cx, (tx) => addDevice(tx, id, { ...input, userCode }))
      return formatUserCode(userCode)
    } catch (cause) {
      const isTaken = cause instanceof Fault && cause.id === "device.code_taken"
      if (!isTaken || tries === triesMax) throw cause
    }
  }
}
