import { create, isMessage, type Message } from "@bufbuild/protobuf"
import {
  GetUserByIDRequestSchema,
  GetUserByIDResponseSchema,
} from "../../gen/core/user/v2/user_service_pb.ts"
import { Fault, type LaterChange } from "../../kernel/fault.ts"

/** Answers a request for a user as the operation does; faults where the caller may not read it. */
export type ReadUser = (request: Message) => Promise<Message>

/** What a caller may know of a change: who made it only where they may read that user. */
export async function permittedChange(
  { userId, time }: LaterChange,
  read: ReadUser,
): Promise<LaterChange> {
  const displayName = userId === "" ? undefined : await nameOf(userId, read)
  return displayName === undefined
    ? { userId: "", displayName: "", time }
    : { userId, displayName, time }
}

async function nameOf(userId: string, read: ReadUser): Promise<string | undefined> {
  try {
    const answer = await read(create(GetUserByIDRequestSchema, { userId }))
    if (!isMessage(answer, GetUserByIDResponseSchema)) throw new Error("this is no user")
    const { case: kind, value } = answer.user?.type ?? {}
    if (kind === "human") return value?.profile?.displayName ?? ""
    return kind === "machine" ? (value?.name ?? "") : undefined
  } catch (cause) {
    // Users who are gone, or are nobody the caller may read, stay unnamed.
    if (cause instanceof Fault) return undefined
    throw cause
  }
}
