import { bindHandlers } from "../../api/method.ts"
import { ActivityService } from "../../gen/core/activity/v2/activity_service_pb.ts"
import { requireUserId } from "../../kernel/context.ts"
import type { Cx } from "../../store/index.ts"
import { linkableIdps, startLinking } from "./linking.ts"

/** Linking of external accounts by users. */
export const activity = bindHandlers<Cx>()(ActivityService, {
  listLinkableProviders: (_, cx) => ({
    providers: linkableIdps(cx, requireUserId(cx)).map(({ idp: { id: idpId, name } }) => ({
      idpId,
      name,
    })),
  }),
  startProviderLink: ({ idpId }, cx) => ({ url: startLinking(cx, requireUserId(cx), idpId) }),
})
