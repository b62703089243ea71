import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import type { MessageCustomText } from "../../../src/gen/core/text/v1/text_pb.ts"
import type { Operation } from "../shell/index.ts"
import type { FieldName } from "./message-kind.ts"

const admin = AdminService.method
const management = ManagementService.method

/** The kind of message, and the language of its text. */
type TextId = { kind: string; language: string }

type Read = Operation<TextId, { customText?: MessageCustomText | undefined }>

type MessageOperations = {
  readonly present: Read
  /** What applies where `present` says nothing. */
  readonly inherited: Read
  readonly set: Operation<TextId & Record<FieldName, string>>
  readonly reset: Operation<TextId>
}

/** The operations for the texts of messages, of an instance and of an organization. */
export const methods: Readonly<Record<"instance" | "organization", MessageOperations>> = {
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
