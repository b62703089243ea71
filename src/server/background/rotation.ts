import { rotateKeys, rotateSamlKeys } from "../../domain/key/index.ts"
import type { ServerServices } from "../services.ts"
import { startHourly } from "./hourly.ts"

/** Rotates the keys of all instances. */
export const startKeyRotation = (services: ServerServices) =>
  startHourly(services, {
    name: "key-rotation",
    tasks: [rotateKeys, rotateSamlKeys],
    failureMessage: "the keys of instance {instance} could not be rotated: {cause}",
  })
