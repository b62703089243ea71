import { Alert, Badge, Button } from "../../kit/index.ts"
import { ActionButton, FileButton } from "../form/index.ts"
import { RefusalAlert, t, useAction, useMay } from "../shell/index.ts"
import {
  type Look,
  type LookFile,
  type LookFileKind,
  lookFiles,
  removeLookFile,
  sendLookFile,
  showLook,
  useLook,
  useLookFile,
} from "./branding-files.ts"
import { BrandingPreview } from "./branding-preview.tsx"
import type { MoreProps, PolicyOwner } from "./policy.ts"

/** Logo, icon and font of a look: tried first, and shown to everybody by a word of its own. */
export function BrandingFiles({ place, values, isHere, change }: MoreProps) {
  const look = useLook(place)
  const may = useMay(place)
  if (!look) return null
  const mayChange = isHere && may(change)
  const isPending = lookFiles.some(({ name }) => !look.isShown(name))
  return (
    <div className="stack look">
      <h3>{t("look.title")}</h3>
      <p className="quiet">{t("look.lead")}</p>
      {!isHere && <p className="quiet">{t("look.inherited")}</p>}
      <ul className="look-files">
        {lookFiles.map((file) => (
          <Row key={file.kind} place={place} file={file} look={look} mayChange={mayChange} />
        ))}
      </ul>
      {isPending && (
        <Alert tone="warning" title={t("look.pending")}>
          <p>{t("look.pending_text")}</p>
          <BrandingPreview values={values} place={place} />
          {mayChange && (
            <ActionButton needs={change} label={t("look.show")} act={() => showLook(place)} />
          )}
        </Alert>
      )}
    </div>
  )
}

type RowProps = {
  readonly place: PolicyOwner
  readonly file: LookFile
  readonly look: Look
  readonly mayChange: boolean
}

function Row({ place, file, look, mayChange }: RowProps) {
  const { name, kind, ground } = file
  const isThere = look.has(name)
  const label = t(`look.${name}`)
  return (
    <li className="look-file">
      <span className={`look-ground look-ground-${ground}`}>
        {isThere && kind !== "font" ? (
          <Picture place={place} kind={kind} label={label} />
        ) : (
          <Dash />
        )}
      </span>
      <span className="look-name">
        {label}
        <span className="quiet small">{t(isThere ? "look.there" : `look.${name}.none`)}</span>
      </span>
      {!look.isShown(name) && <Badge>{t("look.waits")}</Badge>}
      {mayChange && (
        <span className="row">
          <Choose place={place} file={file} label={label} />
          {isThere && <Remove place={place} file={file} label={label} />}
        </span>
      )}
    </li>
  )
}

const Dash = () => <span aria-hidden="true">–</span>

type PictureProps = Pick<RowProps, "place"> & {
  readonly kind: LookFileKind
  readonly label: string
}

function Picture({ place, kind, label }: PictureProps) {
  const address = useLookFile(place, kind)
  return address ? <img src={address} alt={label} /> : <Dash />
}

type FileProps = Pick<RowProps, "place" | "file"> & { readonly label: string }

function Choose({ place, file, label }: FileProps) {
  const { kind, accept } = file
  const action = useAction((sent: File) => sendLookFile(place, kind, sent))
  return (
    <>
      <FileButton
        label={t("look.choose")}
        name={label}
        accept={accept}
        busy={action.busy}
        small
        onFile={action.run}
      />
      <RefusalAlert refusal={action.refusal} />
    </>
  )
}

function Remove({ place, file, label }: FileProps) {
  const action = useAction(() => removeLookFile(place, file))
  return (
    <>
      <Button
        small
        kind="plain"
        disabled={action.busy}
        aria-label={`${label}: ${t("look.remove")}`}
        onClick={() => action.run()}
      >
        {t("look.remove")}
      </Button>
      <RefusalAlert refusal={action.refusal} />
    </>
  )
}
