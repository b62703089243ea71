import type { JsonObject } from "@bufbuild/protobuf"
import { share } from "../../api/method.ts"
import { DiagnosisService } from "../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import type { Cx } from "../../store/index.ts"
import {
  entranceOf,
  type Found,
  idpById,
  missingError,
  noteAnswered,
  startIntent,
} from "../idp/index.ts"
import { requireInstance } from "../instance/index.ts"
import { ownIntent } from "./check.ts"
import { answeredByDirectory } from "./directory.ts"

/** Trying out a provider: an intent whose end is shown to whoever began it, and no more. */
export const diagnosis = share<Cx>()(DiagnosisService, {
  startProviderTest: async ({ idpId, username, password }, cx) => {
    const found = idpById(cx, idpId)
    if (!found) throw missingError()
    const creatorId = cx.caller.kind === "user" ? cx.caller.userId : ""
    const begun = { agentId: "", requestId: "", creatorId }
    if (entranceOf(found.idp.settings) === "page") {
      const page = consolePage(cx, found)
      const back = { successUrl: page, failureUrl: page }
      return { authUrl: (await startIntent(cx, found, { ...begun, ...back })).authUrl }
    }
    const answered = await answeredByDirectory(cx, found, { username, password })
    const noted = { ...begun, answered }
    const { id: testId, token: testToken } = await noteAnswered(cx, found, noted)
    return { testId, testToken }
  },
  getProviderTest: ({ testId, testToken }, cx) => {
    const { identity, raw } = ownIntent(cx, testId, testToken).answered
    const shown: JsonObject = JSON.parse(JSON.stringify(raw))
    return { raw: shown, person: identity }
  },
})

/** Only ever ours: whoever is sent to try it out tells nobody else who they are. */
function consolePage(cx: Cx, { idp, place }: Found): string {
  const { publicUrl } = requireInstance(cx)
  const path = place === undefined ? "" : `/organizations/${place}`
  return `${publicUrl}/ui/console${path}/identity-providers?tested=${idp.id}`
}
