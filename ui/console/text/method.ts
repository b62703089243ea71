import type { DescMethodUnary } from "@bufbuild/protobuf"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { type KindName, kinds } from "./kind.ts"

const admin = AdminService.method
const management = ManagementService.method

/**
 * The same operation about another kind of message: they are alike but for their names, and to
 * describe all of them would weigh more than the page.
 */
export const alike = (method: DescMethodUnary, kind: KindName): DescMethodUnary => ({
  ...method,
  name: nameLike(method.name, kind),
})

/** Some set the texts of an organisation by a name that says "custom" twice. */
const once: readonly KindName[] = [
  ...(["init", "password_reset", "verify_email", "verify_phone"] as const),
  ...(["verify_sms_otp", "verify_email_otp"] as const),
]

/** How the operation on invitations is called for another kind. */
export function nameLike(name: string, kind: KindName): string {
  const named = name.replace("InviteUser", kinds[kind].name)
  return once.includes(kind) ? named.replace("MessageCustomText", "MessageText") : named
}

type Way = "present" | "inherited" | "set" | "reset"

/** The operations at a place; what it says nothing of comes from `inherited`. */
export const methods: Readonly<
  Record<"instance" | "organization", Readonly<Record<Way, DescMethodUnary>>>
> = {
  instance: {
    present: admin.getCustomInviteUserMessageText,
    inherited: admin.getDefaultInviteUserMessageText,
    set: admin.setDefaultInviteUserMessageText,
    reset: admin.resetCustomInviteUserMessageTextToDefault,
  },
  organization: {
    present: management.getCustomInviteUserMessageText,
    inherited: management.getDefaultInviteUserMessageText,
    set: management.setCustomInviteUserMessageCustomText,
    reset: management.resetCustomInviteUserMessageTextToDefault,
  },
}
