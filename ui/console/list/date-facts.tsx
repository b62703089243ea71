import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { t } from "../shell/index.ts"
import { Time } from "./time.tsx"

type Dates = {
  readonly creationDate?: Timestamp | undefined
  readonly changeDate?: Timestamp | undefined
}

/** When a thing was created and last changed, as facts. */
export const dateFacts = ({ creationDate, changeDate }: Dates = {}) =>
  [
    [t("field.created"), <Time key="created" at={creationDate} />],
    [t("field.changed"), <Time key="changed" at={changeDate} />],
  ] as const
