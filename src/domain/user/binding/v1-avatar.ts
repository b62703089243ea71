import { share } from "../../../api/method.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { removeAvatar } from "../avatar.ts"

export const managementAvatar = share<Cx>()(ManagementService, {
  removeHumanAvatar: async ({ userId }, cx) => ({
    details: details(await removeAvatar(cx, userId)),
  }),
})
