import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  DataOrg,
  DataOrgSchema,
  ImportDataSuccessOrgSchema,
} from "../../../gen/core/admin/v1/data_pb.ts"
import type { Cx } from "../../../store/index.ts"
import type { IncludedSecrets } from "../model.ts"

/** A part of an organization: a list with one item, or one message. */
export type OrgPiece = MessageInitShape<typeof DataOrgSchema>

/** The result for an imported item. */
export type Success = MessageInitShape<typeof ImportDataSuccessOrgSchema>

/** A kind of item of organizations, with functions that read and import it. */
type ItemKindSpec<V> = {
  /** The name in the API. */
  readonly field: Field
  /** The permissions for reading and importing it. */
  readonly needs: { readonly read: string; readonly write: readonly string[] }
  readonly from: (org: DataOrg) => readonly V[]
  readonly read: (
    cx: Cx,
    orgId: string,
    carried: IncludedSecrets,
  ) => Iterable<OrgPiece> | AsyncIterable<OrgPiece>
  /** Throws if the item is invalid or exists; existing data is never changed. */
  readonly write: (cx: Cx, orgId: string, value: V) => Promise<void>
  readonly idOf: (value: V) => string
  readonly successOf: (value: V, orgId: string) => Success
  /** Whether the kind is imported only into organizations that this import has created. */
  readonly onlyNewOrgs?: true
  /** Items with the same lane are imported one after another; by default all of the kind. */
  readonly lane?: (value: V) => string
}

export type Field = Exclude<keyof DataOrg, "$typeName" | "$unknown" | "orgId">

/** An item to import. */
export type ImportItem = {
  readonly id: string
  readonly lane: string
  readonly success: Success
  readonly write: (cx: Cx) => Promise<void>
}

/** A kind of item without its message type. */
export type ItemKind = Pick<ItemKindSpec<never>, "field" | "needs" | "read" | "onlyNewOrgs"> & {
  readonly itemsOf: (org: DataOrg) => readonly ImportItem[]
}

export const itemKind = <V>({
  from,
  write,
  idOf,
  successOf,
  lane,
  ...rest
}: ItemKindSpec<V>): ItemKind => ({
  ...rest,
  itemsOf: (org) =>
    from(org).map((value) => ({
      id: idOf(value),
      lane: lane?.(value) ?? "",
      success: successOf(value, org.orgId),
      write: (cx) => write(cx, org.orgId, value),
    })),
})

/** A value that occurs at most once, as a list. */
export const listOf = <V>(value: V | undefined): readonly V[] =>
  value === undefined ? [] : [value]

/** The permissions of a kind with the usual names. */
export const permissionsFor = (prefix: string, ...more: readonly string[]) => ({
  read: `${prefix}.read`,
  write: [`${prefix}.write`, ...more],
})
