import { share } from "../../api/method.ts"
import { AuthService } from "../../gen/core/auth/v1/auth_service_pb.ts"
import { IDPType } from "../../gen/core/idp/v1/idp_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, details } from "../../protocol/api/answer.ts"
import { type Cx, windowOf } from "../../store/index.ts"
import { idpById } from "../idp/index.ts"
import { usableLinks } from "../user-link/index.ts"
import { unlinkUser } from "./link.ts"

/** What people sign in with elsewhere, as they see it themselves. */
export const auth = share<Cx>()(AuthService, {
  listMyLinkedIDPs: ({ query }, cx) => {
    const userId = callerId(cx)
    const found = windowOf(cx, usableLinks(cx, userId), {
      page: pageOf(query),
      requested: ["idp_links", userId],
      by: ({ added, linkId }) => [added, linkId],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: at(cx.clock.now()),
      },
      result: found.rows.map(({ idpId, externalId, name }) => ({
        userId,
        idpId,
        idpName: idpById(cx, idpId)?.idp.name ?? "",
        providedUserId: externalId,
        providedUserName: name,
        idpType: typeOf(cx, idpId),
      })),
    }
  },
  removeMyLinkedIDP: async (req, cx) => ({
    details: details(await unlinkUser(cx, callerId(cx), req)),
  }),
})

function callerId({ caller }: Cx): string {
  if (caller.kind === "user") return caller.userId
  throw new Fault("permission_denied", "user.not_yourself", "a system user has no links")
}

/** The field knows two kinds of provider, and says nothing of the others. */
function typeOf(cx: Cx, idpId: string): IDPType {
  const kind = idpById(cx, idpId)?.idp.settings.kind
  if (kind === "jwt") return IDPType.IDP_TYPE_JWT
  return kind === "oidc" ? IDPType.IDP_TYPE_OIDC : IDPType.IDP_TYPE_UNSPECIFIED
}
