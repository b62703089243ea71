import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  DataOrg,
  DataOrgSchema,
  ImportDataSuccessOrgSchema,
} from "../../../gen/core/admin/v1/data_pb.ts"
import type { Cx } from "../../../store/index.ts"
import type { Carried } from "../model.ts"

/** A part of an organisation: one of its lists with one thing in it, or one of its messages. */
export type Piece = MessageInitShape<typeof DataOrgSchema>

/** What an import says it has taken. */
export type Success = MessageInitShape<typeof ImportDataSuccessOrgSchema>

/** One kind of thing that organisations have: how it is read, and how it is taken over. */
type Spec<V> = {
  /** As the interface names it. */
  readonly field: Field
  /** What reading it takes, and what taking it over. */
  readonly needs: { readonly read: string; readonly write: readonly string[] }
  readonly from: (org: DataOrg) => readonly V[]
  readonly read: (cx: Cx, orgId: string, carried: Carried) => Iterable<Piece> | AsyncIterable<Piece>
  /** Faults where it can't be taken, or is there already: nothing that is there changes. */
  readonly write: (cx: Cx, orgId: string, value: V) => Promise<void>
  readonly idOf: (value: V) => string
  readonly taken: (value: V, orgId: string) => Success
  /** Whether it is taken of organisations that the same import has made, alone. */
  readonly ofNew?: true
  /** What is written one after the other; without it, everything of the kind. */
  readonly lane?: (value: V) => string
}

export type Field = Exclude<keyof DataOrg, "$typeName" | "$unknown" | "orgId">

/** One thing that is to be taken over. */
export type Taking = {
  readonly id: string
  readonly lane: string
  readonly success: Success
  readonly write: (cx: Cx) => Promise<void>
}

/** A kind of thing, the type of its message forgotten. */
export type Row = Pick<Spec<never>, "field" | "needs" | "read" | "ofNew"> & {
  readonly takings: (org: DataOrg) => readonly Taking[]
}

export const row = <V>({ from, write, idOf, taken, lane, ...rest }: Spec<V>): Row => ({
  ...rest,
  takings: (org) =>
    from(org).map((value) => ({
      id: idOf(value),
      lane: lane?.(value) ?? "",
      success: taken(value, org.orgId),
      write: (cx) => write(cx, org.orgId, value),
    })),
})

/** What there is at most one of. */
export const one = <V>(value: V | undefined): readonly V[] => (value === undefined ? [] : [value])

/** Which permissions a kind of thing takes, where they are named alike. */
export const needs = (what: string, ...more: readonly string[]) => ({
  read: `${what}.read`,
  write: [`${what}.write`, ...more],
})
