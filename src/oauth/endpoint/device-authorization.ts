import { addDevice, type NewDevice } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { type AuthenticatedApp, authenticateClient } from "../client/authentication.ts"
import { proofOf } from "../client/proof.ts"
import { writeDeviceCode } from "../device/code.ts"
import { pollSeconds } from "../device/polling.ts"
import { newUserCode, shownUserCode } from "../device/user-code.ts"
import { applicationFor } from "../grant/registered.ts"
import { loginPageOf } from "../handed/login-page.ts"
import { issuerOf, paths } from "../issuer.ts"
import { knowDocument } from "../registration/document.ts"
import { type Parameters, parametersOf, wordsOf } from "../request.ts"
import { json } from "../response.ts"
import { foreignAmong } from "../token/audience.ts"
import {
  audienceOf,
  grantedScopes,
  isPlain,
  leftOut,
  projectsAsAudience,
  scopesWithoutOurs,
  withApiScopes,
  withoutOurs,
} from "../token/scope.ts"
import type { Endpoint } from "./endpoint.ts"

/** Seconds that a person has to type the code. */
const lifetimeSeconds = 300

/** RFC 8628 §3.1: a device without a keyboard gets a code that a person types elsewhere. */
export const deviceAuthorization: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  answer: async ({ cx, request, url, form }) => {
    const parameters = parametersOf(await form())
    const { headers, method } = request
    const authorization = headers.get("authorization")
    await knowDocument(cx, parameters.get("client_id") ?? "")
    const authenticated = await authenticateClient(cx, { parameters, authorization })
    const client = applicationFor(authenticated, "device_code")
    const proof = await proofOf(cx, { headers, method, path: url.pathname })
    const wish = wishOf(cx, client, parameters)
    cx.allowance?.spend("request")
    const id = cx.ids.next()
    const userCode = await addWithCode(cx, id, { ...wish, ...(proof && { jkt: proof.jkt }) })
    const login = loginPageOf(cx, { clientId: client.clientId })
    const page = login === undefined ? issuerOf(cx).issuer + paths.device : `${login}/device`
    return json({
      device_code: writeDeviceCode(cx, id),
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${userCode}`,
      expires_in: lifetimeSeconds,
      interval: pollSeconds,
    })
  },
}

type Wish = Omit<NewDevice, "userCode">

function wishOf(cx: Cx, { appId, clientId, state }: AuthenticatedApp, given: Parameters): Wish {
  const asked = wordsOf(given.get("scope"))
  const { granted, projects } = accessOf(cx, asked, state)
  const audience = [...new Set([clientId, ...projects])]
  const scopes = withApiScopes(cx, asked, { granted, audience })
  const foreign = foreignAmong(cx, { appId, projectId: state.projectId }, projects)
  const more = { ...leftOut(asked, scopes), ...foreign }
  return { clientId, appId, scopes, audience, ...more, lifetimeSeconds }
}

/** What the scopes give but for those of APIs, which depend on the audience. */
function accessOf(cx: Cx, asked: readonly string[], state: AuthenticatedApp["state"]) {
  const granted = grantedScopes(asked, state)
  const projects = [...projectsAsAudience(cx, [state.projectId]), ...audienceOf(cx, granted)]
  if (!isPlain(granted, state)) return { granted, projects }
  return { granted: scopesWithoutOurs(cx, granted), projects: withoutOurs(cx, projects) }
}

const triesMax = 5

/** Answers the code as people see it. One that another device has just now is drawn again. */
async function addWithCode(cx: Cx, id: string, wish: Wish): Promise<string> {
  for (let tries = 1; ; tries++) {
    const userCode = newUserCode(cx.random)
    try {
      await cx.store.transact(cx, (tx) => addDevice(tx, id, { ...wish, userCode }))
      return shownUserCode(userCode)
    } catch (cause) {
      const isTaken = cause instanceof Fault && cause.id === "device.code_taken"
      if (!isTaken || tries === triesMax) throw cause
    }
  }
}
