import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import type { MessageCustomText } from "../../../src/gen/core/text/v1/text_pb.ts"
import type { Operation } from "../shell/index.ts"
import type { FieldName } from "./message-kind.ts"

const admin = AdminService.method
const management = ManagementService.method

/** The kind and language of a message text. */
type TextId = { kind: string; language: string }

type ReadOperation = Operation<TextId, { customText?: MessageCustomText | undefined }>

type MessageOperations = {
  readonly present: ReadOperation
  /** The texts that apply if the owner has none. */
  readonly inherited: ReadOperation
  readonly set: Operation<TextId & Record<FieldName, string>>
  readonly reset: Operation<TextId>
}

/** Operations on message texts of an instance and of an organization. */
export const messageOperations: Readonly<Record<"instance" | "organization", MessageOperations>> = {
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
