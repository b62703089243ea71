import { rotateKeys, rotateSamlKeys } from "../../domain/key/index.ts"
import type { ServerServices } from "../services.ts"
import { keepHourly } from "./hourly.ts"

/** Looks at the keys of every instance. */
export const keepRotating = (services: ServerServices) =>
  keepHourly(services, {
    name: "key-rotation",
    does: [rotateKeys, rotateSamlKeys],
    failed: "the keys of instance {instance} could not be rotated: {cause}",
  })
