import type { DescMessage, DescMethod } from "@bufbuild/protobuf"
import type { ReactNode } from "react"
import { Button } from "../../kit/index.ts"
import { ConfirmButton, formId, type RenderForm, useOpenForm } from "../form/index.ts"
import { IfPermitted, Page, Section, t, useIsPermitted } from "../shell/index.ts"
import { EmptyList } from "./empty-list.tsx"
import { type ListColumn, Listing, type ListingProps } from "./listing.tsx"

/**
 * Each has texts for its title, its create button, the empty list and the consequence of removing.
 */
type CollectionFamily = (typeof commonFamilies)[number] | (typeof rareFamilies)[number]

const commonFamilies = ["authorizations", "custom_roles", "groups", "roles"] as const

/** Rarely used, so an empty list shows one line without a suggested action. */
const rareFamilies = [
  ...(["administrators", "domains", "email_providers", "grants", "group_users", "idps"] as const),
  ...(["executions", "metadata", "public_keys", "scripts", "sms_providers", "targets"] as const),
] as const

type CollectionProps<I extends DescMessage, O extends DescMessage, Row> = Pick<
  ListingProps<I, O, Row>,
  | "method"
  | "toRequest"
  | "within"
  | "find"
  | "columns"
  | "keyOf"
  | "filters"
  | "filtered"
  | "unsearched"
> & {
  readonly family: CollectionFamily
  readonly nameOf: (row: Row) => string
  /**
   * The operations to create, update and remove; without an update operation, rows are read-only.
   */
  readonly needs: Readonly<Record<"create" | "remove", DescMethod>> & { readonly edit?: DescMethod }
  /** The form to create an entry if there is no row, otherwise to edit it. */
  readonly form: (row: Row | undefined) => RenderForm
  /** Whether a row has no actions; by default all rows have them. */
  readonly isFixed?: (row: Row) => boolean
  /** The `ActivationButton`, if rows can be deactivated. */
  readonly turn?: (
    row: Row,
    options: { readonly small: true; readonly subject: string },
  ) => ReactNode
  readonly more?: (row: Row) => ReactNode
  readonly remove: (row: Row) => Promise<unknown>
  /** Set if the list is a page of its own, with its owner. */
  readonly page?: { readonly owner?: ReactNode; readonly lead?: string }
}

/** The form name of an entry that doesn't exist yet. */
const newFormName = "+"

/** A list of the entries of a resource, with forms to create, edit and remove them. */
export function Collection<I extends DescMessage, O extends DescMessage, Row>(
  props: CollectionProps<I, O, Row>,
) {
  const { family, columns, page, keyOf, find, needs, ...list } = props
  const may = useIsPermitted()
  const [open, setOpen] = useOpenForm(family)
  const formFor = (row?: Row) => {
    const title = row === undefined ? t(`${family}.create`) : props.nameOf(row)
    const id = formId(family, row === undefined ? newFormName : keyOf(row))
    const submit = row === undefined ? title : undefined
    return props.form(row)({ id, title, submit, close: () => setOpen(undefined) })
  }
  const create = may(needs.create) && (
    <Button {...(page && { kind: "primary" })} onClick={() => setOpen(newFormName)}>
      {t(`${family}.create`)}
    </Button>
  )
  const often = commonFamilies.find((one) => one === family)
  const empty = often ? (
    <EmptyList family={often} action={create} />
  ) : (
    <p className="quiet section-lead">{t(`${family}.empty.text`)}</p>
  )
  const edit = (row: Row) => () => setOpen(keyOf(row))
  const actions: ListColumn<Row> = {
    label: "",
    cell: (row) => (
      <>
        <RowActions {...props} row={row} edit={edit(row)} />
        {open === keyOf(row) && formFor(row)}
      </>
    ),
  }
  const acts = [needs.remove, needs.edit].some((one) => one && may(one))
  const title = t(`${family}.title`)
  const listing = (
    <Listing
      {...list}
      keyOf={keyOf}
      find={find}
      empty={empty}
      caption={title}
      name={page ? "" : family}
      columns={acts || props.more ? [...columns, actions] : columns}
      {...(!page && {
        frame: (content: ReactNode) => (
          <Section title={title} actions={create}>
            {content}
          </Section>
        ),
      })}
    />
  )
  return (
    <>
      {page ? (
        <Page title={title} owner={page.owner} actions={create}>
          {page.lead && <p className="quiet section-lead">{page.lead}</p>}
          {listing}
        </Page>
      ) : (
        listing
      )}
      {open === newFormName && formFor()}
    </>
  )
}

type RowActionsProps<I extends DescMessage, O extends DescMessage, Row> = CollectionProps<
  I,
  O,
  Row
> & { readonly row: Row; readonly edit: () => void }

function RowActions<I extends DescMessage, O extends DescMessage, Row>(
  props: RowActionsProps<I, O, Row>,
) {
  const { row, edit, family, nameOf, isFixed, needs, turn: activation, more, remove } = props
  if (isFixed?.(row)) return null
  const name = nameOf(row)
  return (
    <div className="row-actions">
      {more?.(row)}
      {needs.edit && (
        <IfPermitted needs={needs.edit}>
          <Button small kind="plain" aria-label={`${t("action.edit")}: ${name}`} onClick={edit}>
            {t("action.edit")}
          </Button>
        </IfPermitted>
      )}
      {activation?.(row, { small: true, subject: name })}
      <ConfirmButton
        small
        needs={needs.remove}
        subject={name}
        consequence={t(`${family}.remove_text`)}
        act={() => remove(row)}
      />
    </div>
  )
}
