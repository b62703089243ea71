import { create, isMessage, type Message } from "@bufbuild/protobuf"
import {
  GetUserByIDRequestSchema,
  GetUserByIDResponseSchema,
} from "../../gen/core/user/v2/user_service_pb.ts"
import { Fault, type LaterChange } from "../../kernel/fault.ts"

/** Returns the response to a request for a user; throws if the caller can't read the user. */
export type ReadUser = (request: Message) => Promise<Message>

/**
 * A change as the caller can see it: the user who made it is named only if the caller can read that
 * user.
 */
export async function redactChange(
  { userId, time }: LaterChange,
  read: ReadUser,
): Promise<LaterChange> {
  const displayName = userId === "" ? undefined : await findUserName(userId, read)
  return displayName === undefined
    ? { userId: "", displayName: "", time }
    : { userId, displayName, time }
}

async function findUserName(userId: string, read: ReadUser): Promise<string | undefined> {
  try {
    const answer = await read(create(GetUserByIDRequestSchema, { userId }))
    if (!isMessage(answer, GetUserByIDResponseSchema)) throw new Error("the response is not a user")
    const { case: kind, value } = answer.user?.type ?? {}
    if (kind === "human") return value?.profile?.displayName ?? ""
    return kind === "machine" ? (value?.name ?? "") : undefined
  } catch (cause) {
    // A user who was deleted or whom the caller can't read is not named.
    if (cause instanceof Fault) return undefined
    throw cause
  }
}
