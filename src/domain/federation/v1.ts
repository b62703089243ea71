import { bindHandlers } from "../../api/method.ts"
import { AuthService } from "../../gen/core/auth/v1/auth_service_pb.ts"
import { IDPType } from "../../gen/core/idp/v1/idp_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { parsePage } from "../../kernel/page.ts"
import { toDetails, toTimestamp } from "../../protocol/api/response.ts"
import { type Cx, paginate } from "../../store/index.ts"
import { findIdpById } from "../idp/index.ts"
import { listUsableLinks } from "../user-link/index.ts"
import { unlinkUser } from "./link.ts"

/** The caller's own external accounts. */
export const auth = bindHandlers<Cx>()(AuthService, {
  listMyLinkedIDPs: ({ query }, cx) => {
    const userId = requireUserId(cx)
    const found = paginate(cx, listUsableLinks(cx, userId), {
      page: parsePage(query),
      requested: ["idp_links", userId],
      by: ({ added, linkId }) => [added, linkId],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: toTimestamp(cx.clock.now()),
      },
      result: found.rows.map(({ idpId, externalId, name }) => ({
        userId,
        idpId,
        idpName: findIdpById(cx, idpId)?.idp.name ?? "",
        providedUserId: externalId,
        providedUserName: name,
        idpType: typeOf(cx, idpId),
      })),
    }
  },
  removeMyLinkedIDP: async (req, cx) => ({
    details: toDetails(await unlinkUser(cx, requireUserId(cx), req)),
  }),
})

function requireUserId({ caller }: Cx): string {
  if (caller.kind === "user") return caller.userId
  throw new Fault("permission_denied", "user.not_yourself", "system users have no links")
}

/** The field has values for only two kinds of provider and is empty for others. */
function typeOf(cx: Cx, idpId: string): IDPType {
  const kind = findIdpById(cx, idpId)?.idp.settings.kind
  if (kind === "jwt") return IDPType.IDP_TYPE_JWT
  return kind === "oidc" ? IDPType.IDP_TYPE_OIDC : IDPType.IDP_TYPE_UNSPECIFIED
}
