import * as z from "zod/mini"
import { person } from "./person.ts"

/** A part of an import of people; with a session it belongs to those before. */
export const takeAsked = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    /** The id of an instance, where there are several. */
    instance: z.optional(z.string()),
    /** The organisation that gets them; the instance's default where it is left out. */
    orgId: z.optional(z.string()),
    /** The project that their roles are on. */
    projectId: z.optional(z.string()),
    dryRun: z.boolean(),
    people: z.array(person),
    isLast: z.boolean(),
  }),
)
export type TakeAsked = Readonly<z.output<typeof takeAsked>>

/** What became of each of a part, in the same order. */
const outcome = z.lazy(() =>
  z.union([
    z.object({ became: z.enum(["taken", "there"]) }),
    /** The id and the words of the fault. */
    z.object({ became: z.literal("refused"), id: z.string(), message: z.string() }),
  ]),
)
export type PersonOutcome = Readonly<z.output<typeof outcome>>

export const takePart = z.lazy(() => z.object({ session: z.string(), outcomes: z.array(outcome) }))
export type TakePart = Readonly<z.output<typeof takePart>>

/** What an export of people is asked for; with a session it goes on where that one is. */
export const tellAsked = z.lazy(() =>
  z.strictObject({
    session: z.optional(z.string()),
    instance: z.optional(z.string()),
    orgId: z.optional(z.string()),
    projectId: z.optional(z.string()),
    withPasswords: z.boolean(),
    withOtp: z.boolean(),
  }),
)
export type TellAsked = Readonly<z.output<typeof tellAsked>>

/** A part of an export; without a session it is the last. */
export const tellPart = z.lazy(() =>
  z.object({ people: z.array(person), session: z.optional(z.string()) }),
)
export type TellPart = Readonly<z.output<typeof tellPart>>

/** Which addresses are confirmed for the whole instance; all, or those of one organization. */
export const confirmAsked = z.lazy(() =>
  z.strictObject({
    instance: z.optional(z.string()),
    orgId: z.optional(z.string()),
    dryRun: z.boolean(),
  }),
)
export type ConfirmAsked = Readonly<z.output<typeof confirmAsked>>

export const confirmPart = z.lazy(() =>
  z.object({
    confirmed: z.number(),
    /** The first of them. */
    userIds: z._default(z.array(z.string()), []),
    /** Users who share their address with others. */
    skipped: z._default(z.number(), 0),
  }),
)
export type ConfirmPart = Readonly<z.output<typeof confirmPart>>

/** Whoever has the store: the server that runs, or this process. */
export type PeopleCarrier = {
  readonly takePeople: (asked: TakeAsked) => Promise<TakePart>
  readonly tellPeople: (asked: TellAsked) => Promise<TellPart>
  readonly confirmEmails: (asked: ConfirmAsked) => Promise<ConfirmPart>
}
