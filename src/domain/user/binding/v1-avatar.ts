import { bindHandlers } from "../../../api/method.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { removeAvatar } from "../avatar.ts"

export const managementAvatar = bindHandlers<Cx>()(ManagementService, {
  removeHumanAvatar: async ({ userId }, cx) => ({
    details: toDetails(await removeAvatar(cx, userId)),
  }),
})
