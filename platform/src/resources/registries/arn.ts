/** Reads ARNs of ECR repositories: which AWS registry they name, and which repository in it. */

export interface EcrRepository {
  awsUser: string;
  awsRegion: string;
  repository: string;
  /** The host of the registry. */
  host: string;
}

const ARN =
  /^arn:(aws|aws-cn|aws-us-gov):ecr:([a-z]{2,}(?:-[a-z]+)+-\d{1,2}):(\d{12}):repository\/([a-z0-9][a-z0-9._/-]{1,255})$/;

/** Undefined for any text that is not the ARN of an ECR repository. */
export function parseEcrArn(text: string): EcrRepository | undefined {
  const [, partition, awsRegion, awsUser, repository] = ARN.exec(text) ?? [];
  if (awsRegion === undefined || awsUser === undefined || repository === undefined) return undefined;
  const domain = partition === "aws-cn" ? "amazonaws.com.cn" : "amazonaws.com";
  return { awsUser, awsRegion, repository, host: `${awsUser}.dkr.ecr.${awsRegion}.${domain}` };
}
