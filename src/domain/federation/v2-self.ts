import { share } from "../../api/method.ts"
import { ActivityService } from "../../gen/core/activity/v2/activity_service_pb.ts"
import { callerOf } from "../../kernel/context.ts"
import type { Cx } from "../../store/index.ts"
import { linkableIdps, startLinking } from "./linking.ts"

/** What people link to their accounts by themselves. */
export const activity = share<Cx>()(ActivityService, {
  listLinkableProviders: (_, cx) => ({
    providers: linkableIdps(cx, callerOf(cx)).map(({ idp: { id: idpId, name } }) => ({
      idpId,
      name,
    })),
  }),
  startProviderLink: ({ idpId }, cx) => ({ url: startLinking(cx, callerOf(cx), idpId) }),
})
