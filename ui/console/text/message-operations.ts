import type { DescMethodUnary } from "@bufbuild/protobuf"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"

const admin = AdminService.method
const management = ManagementService.method

type Way = "present" | "inherited" | "set" | "reset"

/** The operations at a place, for all kinds; what it says nothing of comes from `inherited`. */
export const methods: Readonly<
  Record<"instance" | "organization", Readonly<Record<Way, DescMethodUnary>>>
> = {
  instance: {
    present: admin.getCustomMessageText,
    inherited: admin.getDefaultMessageText,
    set: admin.setDefaultMessageText,
    reset: admin.resetCustomMessageTextToDefault,
  },
  organization: {
    present: management.getCustomMessageText,
    inherited: management.getDefaultMessageText,
    set: management.setCustomMessageText,
    reset: management.resetCustomMessageTextToDefault,
  },
}
