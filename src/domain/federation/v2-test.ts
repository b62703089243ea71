import type { JsonObject } from "@bufbuild/protobuf"
import { bindHandlers } from "../../api/method.ts"
import { DiagnosisService } from "../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import type { Cx } from "../../store/index.ts"
import {
  createAnsweredIntent,
  findIdpById,
  idpNotFoundError,
  type OwnedIdp,
  signInMethodOf,
  startIntent,
} from "../idp/index.ts"
import { requireInstance } from "../instance/index.ts"
import { requireIntent } from "./check.ts"
import { authenticateWithDirectory } from "./directory.ts"

/** Tests of a provider: an intent whose result is shown to the caller and has no other effect. */
export const diagnosis = bindHandlers<Cx>()(DiagnosisService, {
  startProviderTest: async ({ idpId, username, password }, cx) => {
    const found = findIdpById(cx, idpId)
    if (!found) throw idpNotFoundError()
    const creatorId = cx.caller.kind === "user" ? cx.caller.userId : ""
    const started = { agentId: "", requestId: "", creatorId }
    if (signInMethodOf(found.idp.settings) === "page") {
      const page = consoleUrl(cx, found)
      const back = { successUrl: page, failureUrl: page }
      return { authUrl: (await startIntent(cx, found, { ...started, ...back })).authUrl }
    }
    const answered = await authenticateWithDirectory(cx, found, { username, password })
    const storedAnswer = { ...started, answered }
    const { id: testId, token: testToken } = await createAnsweredIntent(cx, found, storedAnswer)
    return { testId, testToken }
  },
  getProviderTest: ({ testId, testToken }, cx) => {
    const { identity, raw } = requireIntent(cx, testId, testToken).answered
    const rawAnswer: JsonObject = JSON.parse(JSON.stringify(raw))
    return { raw: rawAnswer, person: identity }
  },
})

/** Always the console, so that the test can't disclose the user's identity to another page. */
function consoleUrl(cx: Cx, { idp, place }: OwnedIdp): string {
  const { publicUrl } = requireInstance(cx)
  const path = place === undefined ? "" : `/organizations/${place}`
  return `${publicUrl}/ui/console${path}/identity-providers?tested=${idp.id}`
}
