import type { MessageInitShape } from "@bufbuild/protobuf"
import type { ResourceSchema } from "../../../src/gen/core/history/v2/history_service_pb.ts"

/** The resource of a history. */
export type HistoryResource = NonNullable<MessageInitShape<typeof ResourceSchema>["resource"]>
