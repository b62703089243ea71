import type { MessageInitShape } from "@bufbuild/protobuf"
import type { ResourceSchema } from "../../../src/gen/core/history/v2/history_service_pb.ts"

/** The resource whose changes a history lists. */
export type HistoryResource = NonNullable<MessageInitShape<typeof ResourceSchema>["resource"]>
